package preview_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/agent/interpret"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/policy"
	"muster.dev/muster/backend/scheduling"
	"muster.dev/muster/backend/template"
	"muster.dev/muster/backend/workload/preview"
	"muster.dev/muster/backend/workload/workloadtest"
)

const fleet = 1000

// deployment is a template with some replicas, of a size.
func (r random) deployment(i int) *unstructured.Unstructured {
	requests := map[string]any{}
	if r.IntN(3) > 0 {
		requests = map[string]any{"requests": map[string]any{"cpu": r.one("100m", "500m", "2"), "memory": r.one("64Mi", "1Gi")}}
	}
	name := fmt.Sprintf("app%03d", i)
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": name, "namespace": "shop", "uid": name, "labels": map[string]any{"app": name}},
		"spec": map[string]any{"replicas": r.Int64N(40), "selector": map[string]any{"matchLabels": map[string]any{"app": name}}, "template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"app": name}},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "main", "image": "nginx", "resources": requests}}},
		}},
	}}
}

// isPlain says which templates have no replicas.
func isPlain(i int) bool { return i%5 == 3 || i%5 == 4 && i%2 == 0 }

// template is a Deployment or a ConfigMap.
func (r random) template(i int) *unstructured.Unstructured {
	if !isPlain(i) {
		return r.deployment(i)
	}
	name := fmt.Sprintf("app%03d", i)
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name, "namespace": "shop", "uid": name, "labels": map[string]any{"app": name}},
	}}
}

func (r random) policy(i int) *policyv1alpha1.PropagationPolicy {
	selector := policyv1alpha1.ResourceSelector{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: fmt.Sprintf("app%03d", i)}
	if isPlain(i) {
		selector.APIVersion, selector.Kind = "v1", "ConfigMap"
	}
	if r.IntN(3) == 0 {
		selector.Name, selector.LabelSelector = "", &metav1.LabelSelector{MatchLabels: map[string]string{"app": selector.Name}}
	}
	p := &policyv1alpha1.PropagationPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: policyv1alpha1.GroupVersion.String(), Kind: policyv1alpha1.ResourceKindPropagationPolicy},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("policy%03d", i)},
		Spec:       policyv1alpha1.PropagationSpec{ResourceSelectors: []policyv1alpha1.ResourceSelector{selector}, Placement: r.placement(), SchedulerName: policyv1alpha1.DefaultSchedulerName},
	}
	return p
}

// complete does to a policy what the hub's schema and admission do when it is saved.
func complete(p *policyv1alpha1.PropagationPolicy, id string) *policyv1alpha1.PropagationPolicy {
	p = p.DeepCopy()
	p.Labels = map[string]string{policyv1alpha1.PropagationPolicyPermanentIDLabel: id}
	p.Spec.ConflictResolution, p.Spec.Preemption = policyv1alpha1.ConflictAbort, policyv1alpha1.PreemptNever
	policy.CompletePropagation(&p.Spec, p.Namespace)
	return p
}

// stored is what detector and scheduler make of a template once a policy is
// saved, step by step as the contract tells them (8.2, 9.1, 9.7).
func stored(t *testing.T, o *unstructured.Unstructured, p *policyv1alpha1.PropagationPolicy, present *workv1alpha2.ResourceBinding, snapshot *scheduling.Snapshot) (*workv1alpha2.ResourceBinding, *scheduling.Failure) {
	t.Helper()
	n, need, _, err := interpret.Native().Replicas(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	b, ok := template.NewBinding(o, p, template.Scale{Replicas: n, Need: need}, template.Extras{}).(*workv1alpha2.ResourceBinding)
	if !ok {
		t.Fatal("the binding of a template with a namespace has one")
	}
	if present != nil {
		fresh := b
		b = present.DeepCopy()
		b.Spec.Replicas, b.Spec.ReplicaRequirements, b.Spec.Placement = fresh.Spec.Replicas, fresh.Spec.ReplicaRequirements, fresh.Spec.Placement
		b.Spec.Resource, b.Spec.ConflictResolution, b.Spec.SchedulerName = fresh.Spec.Resource, fresh.Spec.ConflictResolution, fresh.Spec.SchedulerName
	}
	_, again, needed := scheduling.Needed(b, snapshot)
	if !needed {
		return b, nil
	}
	decision := scheduling.Decide(scheduling.Input{Spec: &b.Spec, Status: &b.Status, Fresh: again}, snapshot)
	switch {
	case decision.Failure == nil:
		b.Spec.Clusters, b.Status.SchedulerObservedAffinityName = decision.Clusters, decision.AffinityName
	case decision.Failure.Reason == workv1alpha2.ReasonNoClusterFit:
		b.Spec.Clusters = nil
	}
	now := metav1.Unix(100, 0)
	b.Status.LastScheduledTime = &now
	if b.Annotations == nil {
		b.Annotations = map[string]string{}
	}
	b.Annotations[policyv1alpha1.AppliedPlacementAnnotation] = scheduling.AppliedPlacement(b.Spec.Placement)
	return b, decision.Failure
}

// said is a result in lines: clusters and replicas, what is left, and the failure.
func said(clusters map[string]int32, left []string, failure string) []string {
	var all []string
	for name, replicas := range clusters {
		all = append(all, fmt.Sprintf("%s:%d", name, replicas))
	}
	slices.Sort(all)
	slices.Sort(left)
	return append(append(all, "left "+strings.Join(left, " ")), "failure "+failure)
}

func replicasBy(targets []workv1alpha2.TargetCluster) map[string]int32 {
	all := map[string]int32{}
	for _, target := range targets {
		all[target.Name] = target.Replicas
	}
	return all
}

// TestPreviewEqualsOutcome previews 200 random policies over 1,000 clusters, a
// half of them as changes of a policy that is in effect, and compares with what
// the controllers store once they are saved.
func TestPreviewEqualsOutcome(t *testing.T) {
	const policies = 200
	r := random{rand.New(rand.NewPCG(4, 2))}
	clusters := r.clusters(fleet)
	snapshot := scheduling.NewSnapshot(clusters)
	templates, present := map[int]*unstructured.Unstructured{}, map[int]*workv1alpha2.ResourceBinding{}
	f := newFixture(t, policy.DefaultGates(), func(w *workloadtest.World) {
		w.SetClusters(clusters)
		for i := range policies {
			o := r.template(i)
			if i%2 == 0 {
				saved := complete(r.policy(i), fmt.Sprintf("id%d", i))
				template.ClaimOf(saved).Put(o)
				w.Put(saved)
				present[i], _ = stored(t, o, saved, nil, snapshot)
				if !isPlain(i) && r.IntN(4) == 0 { // somebody has scaled it since
					if err := unstructured.SetNestedField(o.Object, r.Int64N(40), "spec", "replicas"); err != nil {
						t.Fatal(err)
					}
				}
				w.Put(present[i].DeepCopy())
			}
			templates[i] = o
			w.Put(o)
		}
	})
	equal, moved, failed := 0, 0, 0
	for i := range policies {
		drafted := r.policy(i)
		text, err := yaml.Marshal(drafted)
		if err != nil {
			t.Fatal(err)
		}
		got := f.preview(preview.Draft{YAML: string(text)})
		if got.Templates.Matched != 1 || len(got.Templates.Items) != 1 || !got.Templates.Items[0].Takes || got.ClustersTotal != fleet {
			t.Fatalf("policy %d: %+v", i, got.Templates)
		}
		item := got.Templates.Items[0]
		want, failure := stored(t, templates[i], complete(drafted, fmt.Sprintf("id%d", i)), present[i], snapshot)
		wanted := replicasBy(want.Spec.Clusters)
		var left []string
		if present[i] != nil {
			for _, target := range present[i].Spec.Clusters {
				if _, stays := wanted[target.Name]; !stays {
					left = append(left, target.Name)
				}
			}
		}
		reason := ""
		if failure != nil {
			reason, failed = failure.Reason+": "+failure.Message, failed+1
		}
		if len(left) > 0 {
			moved++
		}
		if diff := cmp.Diff(said(wanted, left, reason), shown(t, &item)); diff != "" {
			t.Errorf("policy %d differs from its preview (-stored +previewed):\n%s\n%s", i, diff, text)
			continue
		}
		checkExplained(t, &item, fleet)
		equal++
	}
	t.Logf("%d/%d previews equal the outcome; %d moved, %d failed", equal, policies, moved, failed)
	if moved < 20 || failed < 10 || failed > policies/2 {
		t.Errorf("the policies are too much alike: %d moved, %d failed", moved, failed)
	}
}

func shown(t *testing.T, item *preview.Item) []string {
	t.Helper()
	clusters := map[string]int32{}
	for _, cluster := range item.Chosen {
		clusters[cluster.Name] = 0
		if cluster.Replicas != nil {
			clusters[cluster.Name] = *cluster.Replicas
		}
		now := int32(-1)
		if cluster.Now != nil {
			now = *cluster.Now
		}
		if fits := map[preview.Changed]bool{
			preview.ChangedNew: now < 0, preview.ChangedKept: cluster.Replicas == nil || now == *cluster.Replicas,
			preview.ChangedMore: cluster.Replicas != nil && now >= 0 && now < *cluster.Replicas, preview.ChangedFewer: cluster.Replicas != nil && now > *cluster.Replicas,
		}; !fits[cluster.Change] {
			t.Errorf("%s: %+v", cluster.Name, cluster)
		}
	}
	var left []string
	for _, leave := range item.Leaves {
		left = append(left, leave.Name)
	}
	reason := ""
	if item.Failure != nil {
		reason = item.Failure.Reason + ": " + item.Failure.Message
	}
	return said(clusters, left, reason)
}

// checkExplained asks for a reason for every cluster that is left out.
func checkExplained(t *testing.T, item *preview.Item, total int) {
	t.Helper()
	out := map[string]bool{}
	for _, exclusion := range item.Excluded {
		if exclusion.Filter == "" || exclusion.Reason == "" || out[exclusion.Name] {
			t.Errorf("%s is left out for no reason, or twice: %+v", exclusion.Name, exclusion)
		}
		out[exclusion.Name] = true
	}
	for _, cluster := range item.Chosen {
		if out[cluster.Name] {
			t.Errorf("%s is both chosen and left out", cluster.Name)
		}
	}
	if item.Failure == nil && len(out)+len(item.Chosen) != total {
		t.Errorf("%d chosen and %d left out of %d", len(item.Chosen), len(out), total)
	}
}

// BenchmarkPreview previews policies that match ten Deployments, over 1,000
// clusters, as the editor does while somebody types.
func BenchmarkPreview(b *testing.B) {
	r := random{rand.New(rand.NewPCG(7, 7))}
	f := newFixture(b, policy.DefaultGates(), func(w *workloadtest.World) {
		w.SetClusters(r.clusters(fleet))
		for i := range 200 {
			o := r.deployment(i)
			o.SetUID(types.UID(o.GetName()))
			w.Put(o)
		}
	})
	texts := make([]string, 50)
	for i := range texts {
		p := r.policy(i)
		p.Spec.ResourceSelectors[0] = policyv1alpha1.ResourceSelector{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop"}
		text, err := yaml.Marshal(p)
		if err != nil {
			b.Fatal(err)
		}
		texts[i] = string(text)
	}
	var took []time.Duration
	b.ResetTimer()
	for i := 0; b.Loop(); i++ {
		began := time.Now()
		got := f.preview(preview.Draft{YAML: texts[i%len(texts)]})
		took = append(took, time.Since(began))
		if got.Templates.Matched != 200 || len(got.Templates.Items) != 10 {
			b.Fatalf("%d matched, %d shown", got.Templates.Matched, len(got.Templates.Items))
		}
	}
	slices.Sort(took)
	p95 := float64(took[len(took)*95/100].Microseconds()) / 1000
	b.ReportMetric(p95, "p95-ms")
	b.Logf("p95-ms: %.4g, goal 200", p95)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
}
