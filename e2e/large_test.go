package e2e_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.dev/muster/backend/controlplane/controlplanetest"
)

// TestLargeObjects takes objects as large as the hub stores them to members of each
// kind: what a way can carry arrives whole, what it cannot is named with its size and
// what to do, and a small object beside it waits for neither.
func TestLargeObjects(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	east := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "east"})
	startKlusterlet(t, east, "east", ocmBootstrap(t, f.hub, ocmToken(t, f.hub)))
	eventually(t, "the agent has announced its cluster", func(context.Context) bool { return f.managedCluster(t, "east") != nil })
	f.accept(t, "east", true)
	f.awaitServed(t, "east")
	f.awaitReady(t, "east", metav1.ConditionTrue)

	s := f.space(t, "large")
	s.policy(t, "all", "{resourceSelectors: [{apiVersion: v1, kind: ConfigMap}], placement: {clusterTolerations: [{key: muster.dev/open-cluster-management, operator: Exists}]}}")
	members := map[string]*controlplanetest.Member{pushName: f.push, pullName: f.pull, "east": east}
	for _, c := range []struct {
		name, text string // the text is repeated
		bytes      int
		// code is what REST says of it, if some members cannot have it.
		code    string
		refused []string
	}{
		{"quotes", `"`, 1 << 20, "work.not-made", []string{pushName, pullName, "east"}}, // more than the hub stores in a Work, where they are escaped
		{"most", "0123456789abcdef", 1 << 20, "work.failed", []string{"east"}},          // as much as an API server stores in a ConfigMap; a ManifestWork takes less
		{"half", "0123456789abcdef", 600 << 10, "work.failed", []string{"east"}},
		{"less", "0123456789abcdef", 490 << 10, "", nil},
		{"small", "0123456789abcdef", 1 << 10, "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			data := strings.Repeat(c.text, c.bytes/len(c.text))
			s.deliverLarge(t, c.name, data, members, c.refused)
			if c.code != "" {
				s.nameLarge(t, c.name, c.code, c.refused)
			}
		})
	}
}

// deliverLarge waits until all members but those that cannot have it have an object.
func (s *space) deliverLarge(t *testing.T, name, data string, members map[string]*controlplanetest.Member, refused []string) {
	t.Helper()
	made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"d": data}}
	if _, err := s.client.CoreV1().ConfigMaps(s.namespace).Create(t.Context(), made, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for cluster, m := range members {
		if !slices.Contains(refused, cluster) {
			eventually(t, name+" whole in "+cluster, func(context.Context) bool {
				object := s.member(t, m, name)
				return object != nil && object.Data["d"] == data
			})
		}
	}
}

// nameLarge checks that binding, Event and REST say how large an object is and what to do.
func (s *space) nameLarge(t *testing.T, name, code string, refused []string) {
	t.Helper()
	words := []string{"the object takes", "bytes", "split it"}
	s.awaitBinding(t, name, "too large for "+strings.Join(refused, ", "), func(o *unstructured.Unstructured) bool {
		status, reason, message := condition(o, "FullyApplied")
		return status == "False" && reason == "FullyAppliedFailed" && containsAll(message, append(words, refused...)...)
	})
	if code == "work.not-made" {
		s.awaitEvent(t, "ConfigMap", "SyncWorkFailed", words...)
	}
	rest := admin(t, s.hub)
	var said workload
	defer func() {
		if t.Failed() {
			t.Logf("REST says of %s: %+v", name, said)
		}
	}()
	eventually(t, "REST names it for "+strings.Join(refused, ", "), func(ctx context.Context) bool {
		answer, err := rest.Do(ctx, http.MethodGet, "/api/v1/workloads/core/v1/ConfigMap/"+s.namespace+"/"+name, nil)
		said = workload{}
		if err != nil || answer.Status != http.StatusOK || answer.Into(&said) != nil {
			return false
		}
		named := 0
		for _, one := range said.Facts {
			if one.Code == code && one.Level == "error" && containsAll(one.Text, words...) {
				named++
			}
		}
		return said.Row.State == "failed" && said.Row.ReasonCode == code && named == len(refused)
	})
}
