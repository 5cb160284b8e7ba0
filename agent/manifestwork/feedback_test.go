package manifestwork_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
)

const feedbackOfOne = `
workload: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: told, namespace: $NS}}]}
manifestConfigs:
- resourceIdentifier: {group: "", resource: configmaps, name: told, namespace: $NS}
  updateStrategy: {type: ReadOnly}
  feedbackScrapeType: TYPE
  feedbackRules: [{type: JSONPaths, jsonPaths: [{name: a, path: .data.a}]}]
`

// TestFeedbackScrapeTypes: values are told on each change, whether a work asks for
// that (Watch) or for an interval (Poll), which is too long here for anything to be
// read by it. Where a kind cannot be watched they are read by the interval, and a work
// that asked for more is told so.
func TestFeedbackScrapeTypes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		scrape    string
		unwatched bool
		every     time.Duration
		said      string
	}{
		"watch":                        {"Watch", false, time.Hour, ""},
		"poll":                         {"Poll", false, time.Hour, ""},
		"watch what cannot be watched": {"Watch", true, 50 * time.Millisecond, "The values are read every 50ms and not on each change: configmaps cannot be watched in this cluster"},
		"poll what cannot be watched":  {"Poll", true, 50 * time.Millisecond, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.options.StatusInterval = c.every
			if c.unwatched {
				f.withoutWatching()
			}
			maps := plane.Client.CoreV1().ConfigMaps(f.namespace)
			if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "told"}, Data: map[string]string{"a": "0"}}, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			f.run()
			f.create("one", strings.ReplaceAll(feedbackOfOne, "TYPE", c.scrape))
			for n := range 3 {
				if _, err := maps.Patch(t.Context(), "told", types.MergePatchType, fmt.Appendf(nil, `{"data":{"a":"%d"}}`, n), metav1.PatchOptions{}); err != nil {
					t.Fatal(err)
				}
				f.eventually(fmt.Sprintf("value %d is told", n), func() bool {
					told := f.work("one").Status.ResourceStatus.Manifests
					return len(told) == 1 && len(told[0].StatusFeedbacks.Values) == 1 && *told[0].StatusFeedbacks.Values[0].Value.String == fmt.Sprint(n)
				})
			}
			f.eventually("the condition says "+c.said, func() bool {
				synced := meta.FindStatusCondition(f.work("one").Status.ResourceStatus.Manifests[0].Conditions, ocmworkv1.ConditionStatusFeedbackSynced)
				return synced != nil && synced.Status == metav1.ConditionTrue && synced.Message == c.said
			})
		})
	}
}

// withoutWatching has the agent act in the member as somebody who may read and change
// ConfigMaps, but not list or watch them.
func (f *fixture) withoutWatching() {
	f.Helper()
	user := "blind-" + f.cluster
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "create", "update", "patch", "delete"}},
		{APIGroups: []string{ocmworkv1.GroupName}, Resources: []string{"*"}, Verbs: []string{"*"}},
	}}
	if _, err := plane.Client.RbacV1().ClusterRoles().Create(f.Context(), role, metav1.CreateOptions{}); err != nil {
		f.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: user}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}}
	if _, err := plane.Client.RbacV1().ClusterRoleBindings().Create(f.Context(), binding, metav1.CreateOptions{}); err != nil {
		f.Fatal(err)
	}
	kubeconfig, err := plane.KubeconfigFor(user)
	if err != nil {
		f.Fatal(err)
	}
	if f.options.Member, err = clientcmd.BuildConfigFromFlags("", kubeconfig); err != nil {
		f.Fatal(err)
	}
}
