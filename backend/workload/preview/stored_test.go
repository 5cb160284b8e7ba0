package preview_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/agent/interpret"
	"muster.dev/muster/backend/access"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/kube/kubetest"
	"muster.dev/muster/backend/live"
	"muster.dev/muster/backend/policy"
	"muster.dev/muster/backend/scheduling"
	"muster.dev/muster/backend/template"
	"muster.dev/muster/backend/workload"
	"muster.dev/muster/backend/workload/fact"
	"muster.dev/muster/backend/workload/preview"
)

// together runs something for each of n numbers, several at a time.
func together(n int, each func(int)) {
	const workers = 16
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := w; i < n; i += workers {
				each(i)
			}
		})
	}
	all.Wait()
}

// controlled previews on a hub with an API server whose controllers store what
// becomes of policies.
type controlled struct {
	*fixture
	hub       *kubetest.Hub
	scheduler *scheduling.Scheduler
}

func startControlled(t *testing.T) *controlled {
	t.Helper()
	h := kubetest.StartHub(t)
	for _, name := range []string{
		"policy.karmada.io_propagationpolicies", "policy.karmada.io_clusterpropagationpolicies",
		"policy.karmada.io_overridepolicies", "policy.karmada.io_clusteroverridepolicies", "apps.karmada.io_workloadrebalancers",
	} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", "crds", name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		var definition apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &definition); err != nil {
			t.Fatal(err)
		}
		h.Create(t, &definition)
	}
	h.Await(t, "policies", func(ctx context.Context) bool {
		return h.Client.List(ctx, &policyv1alpha1.PropagationPolicyList{}) == nil && h.Client.List(ctx, &policyv1alpha1.ClusterOverridePolicyList{}) == nil &&
			h.Client.List(ctx, &policyv1alpha1.ClusterPropagationPolicyList{}) == nil && h.Client.List(ctx, &policyv1alpha1.OverridePolicyList{}) == nil
	})
	h.Create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})

	manager, err := kube.NewManager(h.Config(), slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	gates := policy.DefaultGates()
	c := &controlled{fixture: &fixture{t: t}, hub: h}
	if c.scheduler, err = scheduling.SetupWithManager(manager, scheduling.Deps{Gates: gates}); err != nil {
		t.Fatal(err)
	}
	templates, err := template.SetupWithManager(manager, template.Deps{
		Config: h.Config(), Interpreter: interpret.Native(), Scheduler: c.scheduler, Gates: gates, Misses: policy.NewMisses(), Troubles: template.NewTroubles(),
	})
	if err != nil {
		t.Fatal(err)
	}
	c.service = workload.NewService(workload.ServiceOptions{
		Cache: manager.GetCache(), Templates: templates, Scheduler: c.scheduler, Interpreter: interpret.Native(), Live: live.NewHub(), CRDs: os.DirFS("../../../deploy/crds"), Gates: gates,
		Clients: func(access.Actor) (client.Client, error) { return h.Client, nil },
	})
	if err := manager.Add(c.service); err != nil {
		t.Fatal(err)
	}
	h.Run(t, manager)
	h.Await(t, "the domain", func(context.Context) bool { return c.service.Ready() == nil })
	c.ctx = access.WithActor(t.Context(), access.Actor{Name: "ada", Role: access.RoleAdmin})
	return c
}

// join stores clusters, with their status, and waits until the scheduler has them.
func (c *controlled) join(clusters []*clusterv1alpha1.Cluster) {
	c.t.Helper()
	together(len(clusters), func(i int) {
		joining := clusters[i].DeepCopy()
		leaves := joining.DeletionTimestamp != nil
		joining.UID, joining.DeletionTimestamp, joining.Finalizers = "", nil, []string{clusterv1alpha1.ClusterControllerFinalizer}
		joining.Spec.SyncMode = clusterv1alpha1.Push
		status := joining.Status.DeepCopy()
		c.hub.Create(c.t, joining)
		joining.Status = *status
		err := c.hub.Client.Status().Update(c.ctx, joining)
		if err == nil && leaves {
			err = c.hub.Client.Delete(c.ctx, joining)
		}
		if err != nil {
			c.t.Error(err)
		}
	})
	c.hub.Await(c.t, "the scheduler to know the clusters", func(context.Context) bool {
		known := c.scheduler.Snapshot()
		return !slices.ContainsFunc(clusters, func(want *clusterv1alpha1.Cluster) bool {
			got := known.Get(want.Name)
			return got == nil || len(got.Status.APIEnablements) == 0 || (got.DeletionTimestamp == nil) != (want.DeletionTimestamp == nil)
		})
	})
}

// bindings are those of the templates whose policies the controllers have seen as they
// are now, by the policy's name.
func (c *controlled) bindings(ctx context.Context, saved map[string]*policyv1alpha1.PropagationPolicy) map[string]*workv1alpha2.ResourceBinding {
	var list workv1alpha2.ResourceBindingList
	if err := c.hub.Client.List(ctx, &list, client.InNamespace("shop")); err != nil {
		return nil
	}
	settled := map[string]*workv1alpha2.ResourceBinding{}
	for i := range list.Items {
		b := &list.Items[i]
		name := b.Annotations[policyv1alpha1.PropagationPolicyNameAnnotation]
		p := saved[name]
		scheduled := meta.FindStatusCondition(b.Status.Conditions, workv1alpha2.Scheduled)
		if p == nil || scheduled == nil || scheduling.AppliedPlacement(b.Spec.Placement) != scheduling.AppliedPlacement(&p.Spec.Placement) {
			continue
		}
		if scheduled.Status == metav1.ConditionFalse || b.Status.SchedulerObservedGeneration == b.Generation {
			settled[name] = b
		}
	}
	return settled
}

// knows reads a template's binding anew and says whether the domain has heard of that:
// it goes by caches, which may be behind.
func (c *controlled) knows(o *unstructured.Unstructured, stored *workv1alpha2.ResourceBinding) bool {
	var now workv1alpha2.ResourceBinding
	if c.hub.Client.Get(c.ctx, client.ObjectKeyFromObject(stored), &now) != nil {
		return false
	}
	*stored = now
	kind := o.GroupVersionKind()
	shown, err := c.service.Get(c.ctx, fact.Key{Group: kind.Group, Version: kind.Version, Kind: kind.Kind, Namespace: o.GetNamespace(), Name: o.GetName()})
	if err != nil || shown.Scheduled == nil {
		return false
	}
	wanted := replicasBy(stored.Spec.Clusters)
	for _, cluster := range shown.Row.Clusters {
		replicas, is := wanted[cluster.Name]
		if !is || cluster.Replicas != nil && *cluster.Replicas != replicas {
			return false
		}
	}
	scheduled := meta.FindStatusCondition(stored.Status.Conditions, workv1alpha2.Scheduled)
	return scheduled != nil && len(shown.Row.Clusters) == len(wanted) && shown.Scheduled.Status == string(scheduled.Status) && shown.Scheduled.Message == scheduled.Message
}

// look looks again and again at all that is stored, which is much, until it is as wanted
// or patience ends.
func (c *controlled) look(wanted func(context.Context) bool) {
	_ = wait.PollUntilContextTimeout(c.ctx, 200*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) { return wanted(ctx), nil })
}

// raw is the binding of a template as it is.
func (c *controlled) raw(o *unstructured.Unstructured) string {
	b := &workv1alpha2.ResourceBinding{}
	if err := c.hub.Client.Get(c.ctx, client.ObjectKey{Namespace: o.GetNamespace(), Name: o.GetName() + "-" + strings.ToLower(o.GetKind())}, b); err != nil {
		return err.Error()
	}
	b.ManagedFields = nil
	text, err := yaml.Marshal(b)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// TestPreviewEqualsWhatIsStored previews 200 random policies over 1,000 clusters, a
// half of them as changes of a policy that is in effect, saves them, and compares with
// what the detector and the scheduler store.
func TestPreviewEqualsWhatIsStored(t *testing.T) {
	const policies = 200
	c, r := startControlled(t), random{rand.New(rand.NewPCG(8, 4))}
	began := time.Now()
	c.join(r.clusters(fleet))
	saved, drafts := map[string]*policyv1alpha1.PropagationPolicy{}, make([]*policyv1alpha1.PropagationPolicy, policies)
	templates := make([]*unstructured.Unstructured, policies)
	for i := range policies {
		templates[i], drafts[i] = r.template(i), r.policy(i)
		if i%2 == 0 {
			saved[drafts[i].Name] = complete(r.policy(i), fmt.Sprintf("id%d", i))
		}
	}
	together(policies, func(i int) {
		templates[i].SetUID("")
		c.hub.Create(t, templates[i])
		if p := saved[drafts[i].Name]; p != nil {
			c.hub.Create(t, p)
		}
	})
	var before map[string]*workv1alpha2.ResourceBinding
	c.look(func(ctx context.Context) bool {
		before = c.bindings(ctx, saved)
		return len(before) == len(saved)
	})
	if len(before) != len(saved) {
		t.Fatalf("%d of %d policies are in effect", len(before), len(saved))
	}
	t.Logf("%d clusters and %d bindings after %v", fleet, len(before), time.Since(began).Round(time.Millisecond))

	previewed := make([]preview.Item, policies)
	for i, drafted := range drafts {
		text, err := yaml.Marshal(drafted)
		if err != nil {
			t.Fatal(err)
		}
		c.hub.Await(t, "the preview to know its template, and where that is", func(context.Context) bool {
			if b := before[drafted.Name]; b != nil && !c.knows(templates[i], b) { // what is stored may have moved on, too
				return false
			}
			got := c.preview(preview.Draft{YAML: string(text)})
			if len(got.Templates.Items) == 1 {
				previewed[i] = got.Templates.Items[0]
			}
			return len(got.Templates.Items) == 1
		})
		if !previewed[i].Takes {
			t.Fatalf("policy %d: %+v", i, previewed[i])
		}
		checkExplained(t, &previewed[i], fleet)
	}
	together(policies, func(i int) {
		p := complete(drafts[i], fmt.Sprintf("id%d", i))
		if old := saved[p.Name]; old != nil {
			p.ResourceVersion = old.ResourceVersion
			if err := c.hub.Client.Update(c.ctx, p); err != nil {
				t.Error(err)
			}
		} else {
			c.hub.Create(t, p)
		}
		drafts[i] = p
	})
	for _, p := range drafts {
		saved[p.Name] = p
	}
	// A failure of before may stand for a moment, so all are awaited together.
	differ := map[int]string{}
	c.look(func(ctx context.Context) bool {
		clear(differ)
		after := c.bindings(ctx, saved)
		for i := range previewed {
			name := drafts[i].Name
			if after[name] == nil {
				differ[i] = "it is not scheduled"
			} else if diff := cmp.Diff(saidOf(after[name], before[name]), shown(t, &previewed[i])); diff != "" {
				differ[i] = diff
			}
		}
		return len(differ) == 0
	})
	for i, diff := range differ {
		t.Errorf("policy %d differs from its preview (-stored +previewed):\n%s\n%s", i, diff, c.raw(templates[i]))
	}
	failed, moved := 0, 0
	for i := range previewed {
		if previewed[i].Failure != nil {
			failed++
		}
		if len(previewed[i].Leaves) > 0 {
			moved++
		}
	}
	t.Logf("%d/%d previews equal what is stored, after %v; %d moved, %d failed", policies-len(differ), policies, time.Since(began).Round(time.Millisecond), moved, failed)
	if moved < 20 || failed < 10 || failed > policies/2 {
		t.Errorf("the policies are too much alike: %d moved, %d failed", moved, failed)
	}
}

// saidOf is what a binding says, compared with the one before.
func saidOf(b, before *workv1alpha2.ResourceBinding) []string {
	wanted := replicasBy(b.Spec.Clusters)
	var left []string
	if before != nil {
		for _, target := range before.Spec.Clusters {
			if _, stays := wanted[target.Name]; !stays {
				left = append(left, target.Name)
			}
		}
	}
	failure := ""
	if scheduled := meta.FindStatusCondition(b.Status.Conditions, workv1alpha2.Scheduled); scheduled.Status == metav1.ConditionFalse {
		failure = scheduled.Reason + ": " + scheduled.Message
	}
	return said(wanted, left, strings.TrimSpace(failure))
}
