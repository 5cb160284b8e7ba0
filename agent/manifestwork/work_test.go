package manifestwork_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
)

const web = `
workload:
  manifests:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: web-config, namespace: $NS}, data: {greeting: hello}}
  - apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web, namespace: $NS}
    spec:
      replicas: 2
      selector: {matchLabels: {app: web}}
      template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "registry.example/web:1"}]}}
manifestConfigs:
- resourceIdentifier: {group: apps, resource: deployments, name: web, namespace: $NS}
  feedbackRules:
  - {type: WellKnownStatus}
  - {type: JSONPaths, jsonPaths: [{name: specReplicas, path: .spec.replicas}, {name: image, path: ".spec.template.spec.containers[0].image"}]}
  conditionRules:
  - {condition: Progressing, type: CEL, celExpressions: ["object.status.replicas != object.status.readyReplicas"], message: rolling}
`

// volatile are parts that differ from run to run.
var volatile = cmp.Options{cmpopts.IgnoreFields(metav1.Condition{}, "LastTransitionTime"), cmpopts.EquateEmpty()}

func ref[T any](value T) *T { return &value }

// The conditions are those of the recording manifestwork-apply.
func TestWorkIsAppliedReportedAndRemoved(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run()
	f.create("web", web)
	f.condition("web", "Available", metav1.ConditionTrue)
	f.eventually("the status of the Deployment is told", func() bool { // whose pods are made one after the other
		m := f.work("web").Status.ResourceStatus.Manifests
		if len(m) != 2 || len(m[1].StatusFeedbacks.Values) < 3 {
			return false
		}
		first := m[1].StatusFeedbacks.Values[0]
		return first.Name == "Replicas" && *first.Value.Integer == 2
	})
	work := f.work("web")
	if diff := cmp.Diff([]string{ocmworkv1.ManifestWorkFinalizer}, work.Finalizers); diff != "" {
		t.Error(diff)
	}
	want := []metav1.Condition{
		{Type: "Applied", Status: "True", ObservedGeneration: 1, Reason: "AppliedManifestWorkComplete", Message: "Apply manifest work complete"},
		{Type: "Available", Status: "True", ObservedGeneration: 1, Reason: "ResourcesAvailable", Message: "All resources are available"},
		{Type: "Progressing", Status: "False", ObservedGeneration: 1, Reason: "ConditionRulesAggregated", Message: "no such key: readyReplicas"},
	}
	if diff := cmp.Diff(want, work.Status.Conditions, volatile); diff != "" {
		t.Error(diff)
	}
	applied := metav1.Condition{Type: "Applied", Status: "True", ObservedGeneration: 1, Reason: "AppliedManifestComplete", Message: "Apply manifest complete"}
	available := metav1.Condition{Type: "Available", Status: "True", Reason: "ResourceAvailable", Message: "Resource is available"}
	states := []ocmworkv1.ManifestCondition{
		{
			ResourceMeta: ocmworkv1.ManifestResourceMeta{Ordinal: 0, Version: "v1", Kind: "ConfigMap", Resource: "configmaps", Name: "web-config", Namespace: f.namespace},
			Conditions:   []metav1.Condition{applied, available, {Type: "StatusFeedbackSynced", Status: "True", Reason: "NoStatusFeedbackSynced"}},
		},
		{
			ResourceMeta: ocmworkv1.ManifestResourceMeta{Ordinal: 1, Group: "apps", Version: "v1", Kind: "Deployment", Resource: "deployments", Name: "web", Namespace: f.namespace},
			StatusFeedbacks: ocmworkv1.StatusFeedbackResult{Values: []ocmworkv1.FeedbackValue{
				{Name: "Replicas", Value: ocmworkv1.FieldValue{Type: "Integer", Integer: ref(int64(2))}},
				{Name: "specReplicas", Value: ocmworkv1.FieldValue{Type: "Integer", Integer: ref(int64(2))}},
				{Name: "image", Value: ocmworkv1.FieldValue{Type: "String", String: ref("registry.example/web:1")}},
			}},
			Conditions: []metav1.Condition{applied, available, {Type: "StatusFeedbackSynced", Status: "True", Reason: "StatusFeedbackSynced"},
				{Type: "Progressing", Status: "False", ObservedGeneration: 1, Reason: "ConditionRuleExpressionError", Message: "no such key: readyReplicas"}},
		},
	}
	if diff := cmp.Diff(states, work.Status.ResourceStatus.Manifests, volatile); diff != "" {
		t.Error(diff)
	}
	record := f.record("web")
	deployment := f.object(deployments, "web")
	if owners := deployment.GetOwnerReferences(); len(owners) != 1 || owners[0].UID != record.GetUID() || owners[0].Kind != "AppliedManifestWork" {
		t.Errorf("owners %+v", owners)
	}
	if hash, _, _ := unstructured.NestedString(record.Object, "spec", "hubHash"); record.GetName() != hash+"-web" || len(hash) != 64 {
		t.Errorf("record %s of hub %s", record.GetName(), hash)
	}
	f.eventually("the record lists the objects", func() bool {
		list, _, _ := unstructured.NestedSlice(f.record("web").Object, "status", "appliedResources")
		return len(list) == 2
	})

	f.delete("web")
	f.eventually("everything is gone", func() bool {
		return f.work("web") == nil && f.record("web") == nil && f.object(deployments, "web") == nil && f.object(configMaps, "web-config") == nil
	})
}

func TestDriftIsUndoneAndStatusFollows(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run()
	f.create("web", web)
	f.condition("web", "Available", metav1.ConditionTrue)

	patch := []byte(`{"spec": {"replicas": 5, "template": {"spec": {"nodeSelector": {"not": "wanted"}}}}}`)
	if _, err := f.client.Resource(deployments).Namespace(f.namespace).Patch(t.Context(), "web", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	f.eventually("the Deployment is put right", func() bool {
		o := f.object(deployments, "web")
		replicas, _, _ := unstructured.NestedInt64(o.Object, "spec", "replicas")
		_, selected, _ := unstructured.NestedMap(o.Object, "spec", "template", "spec", "nodeSelector")
		return replicas == 2 && !selected
	})
	if err := f.client.Resource(configMaps).Namespace(f.namespace).Delete(t.Context(), "web-config", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	f.eventually("the ConfigMap is back", func() bool { return f.object(configMaps, "web-config") != nil })

	f.eventually("a status is told", func() bool {
		o := f.object(deployments, "web")
		_ = unstructured.SetNestedMap(o.Object, map[string]any{"replicas": int64(2), "readyReplicas": int64(2), "availableReplicas": int64(2), "observedGeneration": o.GetGeneration()}, "status")
		_, err := f.client.Resource(deployments).Namespace(f.namespace).UpdateStatus(t.Context(), o, metav1.UpdateOptions{})
		if err != nil {
			return false
		}
		return strings.Contains(f.condition("web", "Progressing", metav1.ConditionFalse).Message, "rolling")
	})
}

func TestManifestsTakenOutAreRemoved(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run()
	const two = `workload: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: $NS}}, {apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: $NS}}]}`
	const one = `workload: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: $NS}, data: {new: "yes"}}]}`
	f.create("w", two)
	f.condition("w", "Available", metav1.ConditionTrue)
	f.update("w", one)
	f.eventually("a is gone and b changed", func() bool {
		b := f.object(configMaps, "b")
		value, _, _ := unstructured.NestedString(b.Object, "data", "new")
		return f.object(configMaps, "a") == nil && value == "yes"
	})
	f.condition("w", "Applied", metav1.ConditionTrue)
}

func TestWhatCannotBeAppliedIsSaid(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run()
	f.create("bad", `workload: {manifests: [{apiVersion: example.io/v1, kind: Unknown, metadata: {name: x, namespace: $NS}}, {apiVersion: v1, kind: ConfigMap, metadata: {name: lost, namespace: nowhere-$NS}}]}`)
	f.condition("bad", "Applied", metav1.ConditionFalse)
	f.condition("bad", "Available", metav1.ConditionFalse)
	work := f.work("bad")
	want := []metav1.Condition{
		{Type: "Applied", Status: "False", ObservedGeneration: 1, Reason: "AppliedManifestWorkFailed", Message: "Failed to apply manifest work"},
		{Type: "Available", Status: "False", ObservedGeneration: 1, Reason: "ResourcesNotAvailable", Message: "1 of 2 resources are not available"},
	}
	if diff := cmp.Diff(want, work.Status.Conditions, volatile); diff != "" {
		t.Error(diff)
	}
	states := []ocmworkv1.ManifestCondition{
		{
			ResourceMeta: ocmworkv1.ManifestResourceMeta{Group: "example.io", Version: "v1", Kind: "Unknown", Name: "x", Namespace: f.namespace},
			Conditions: []metav1.Condition{
				{Type: "Applied", Status: "False", ObservedGeneration: 1, Reason: "AppliedManifestFailed", Message: `Failed to apply manifest: the server doesn't have a resource type "Unknown"`},
				{Type: "Available", Status: "Unknown", Reason: "IncompleteResourceMeta", Message: "Resource meta is incomplete"},
			},
		},
		{
			ResourceMeta: ocmworkv1.ManifestResourceMeta{Ordinal: 1, Version: "v1", Kind: "ConfigMap", Resource: "configmaps", Name: "lost", Namespace: "nowhere-" + f.namespace},
			Conditions: []metav1.Condition{
				{Type: "Applied", Status: "False", ObservedGeneration: 1, Reason: "AppliedManifestFailed", Message: `Failed to apply manifest: namespaces "nowhere-` + f.namespace + `" not found`},
				{Type: "Available", Status: "False", Reason: "ResourceNotAvailable", Message: "Resource is not available"},
			},
		},
	}
	if diff := cmp.Diff(states, work.Status.ResourceStatus.Manifests, volatile); diff != "" {
		t.Error(diff)
	}
	f.delete("bad")
	f.eventually("the work is gone", func() bool { return f.work("bad") == nil && f.record("bad") == nil })
}

// A work may bring a kind and objects of it, in any order.
func TestKindAndNamespaceComeWithTheWork(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run()
	f.create("kind", `
workload:
  manifests:
  - {apiVersion: $NS.example.io/v1, kind: Thing, metadata: {name: one, namespace: new-$NS}}
  - {apiVersion: v1, kind: Namespace, metadata: {name: new-$NS}}
  - apiVersion: apiextensions.k8s.io/v1
    kind: CustomResourceDefinition
    metadata: {name: things.$NS.example.io}
    spec:
      group: $NS.example.io
      scope: Namespaced
      names: {plural: things, singular: thing, kind: Thing, listKind: ThingList}
      versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`)
	f.condition("kind", "Applied", metav1.ConditionTrue)
	f.delete("kind")
	f.eventually("the work is gone", func() bool { return f.work("kind") == nil })
}

func TestStrategies(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	api := f.client.Resource(configMaps).Namespace(f.namespace)
	for _, name := range []string{"read", "once-before"} {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": map[string]any{"a": "theirs"}}}
		if _, err := api.Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	f.run()
	f.create("opts", `
workload:
  manifests:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: ssa, namespace: $NS}, data: {a: "1"}}
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: once, namespace: $NS}, data: {a: "1"}}
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: once-before, namespace: $NS}, data: {a: "1"}}
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: read, namespace: $NS}}
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: ignore, namespace: $NS}, data: {a: "1", b: "1"}}
manifestConfigs:
- {resourceIdentifier: {group: "", resource: configmaps, name: ssa, namespace: $NS}, updateStrategy: {type: ServerSideApply}}
- {resourceIdentifier: {group: "", resource: configmaps, name: "once*", namespace: $NS}, updateStrategy: {type: CreateOnly}}
- {resourceIdentifier: {group: "", resource: configmaps, name: read, namespace: $NS}, updateStrategy: {type: ReadOnly}, feedbackRules: [{type: JSONPaths, jsonPaths: [{name: a, path: .data.a}]}]}
- resourceIdentifier: {group: "", resource: configmaps, name: ignore, namespace: $NS}
  updateStrategy: {type: ServerSideApply, serverSideApply: {force: true, ignoreFields: [{condition: OnSpokePresent, jsonPaths: [.data.b]}]}}
`)
	f.condition("opts", "Applied", metav1.ConditionTrue)
	f.condition("opts", "Available", metav1.ConditionTrue)
	if got := f.work("opts").Status.ResourceStatus.Manifests[3].StatusFeedbacks.Values; len(got) != 1 || *got[0].Value.String != "theirs" {
		t.Errorf("feedback of what is only read: %+v", got)
	}
	value := func(name, key string) string {
		v, _, _ := unstructured.NestedString(f.object(configMaps, name).Object, "data", key)
		return v
	}
	change := func(name, patch string) {
		t.Helper()
		if _, err := api.Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if got := value("once-before", "a"); got != "theirs" {
		t.Errorf("what was there before was changed: %s", got)
	}
	change("once", `{"data": {"a": "2"}}`)
	change("ignore", `{"data": {"a": "2", "b": "2"}}`)
	change("ssa", `{"data": {"c": "3"}}`)
	f.eventually("the field that is not ignored is put right", func() bool { return value("ignore", "a") == "1" })
	if value("ignore", "b") != "2" || value("once", "a") != "2" || value("ssa", "c") != "3" {
		t.Error("what belongs to the member was changed")
	}
	f.delete("opts")
	f.eventually("ours are gone", func() bool {
		return f.work("opts") == nil && f.object(configMaps, "ssa") == nil && f.object(configMaps, "once") == nil && f.object(configMaps, "ignore") == nil
	})
	if f.object(configMaps, "read") == nil || f.object(configMaps, "once-before") == nil {
		t.Error("what was there before is gone")
	}
}

func TestOrphans(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, after string // the deleteOption at first, and when the work is deleted
		stays         []string
	}{
		"all":         {"{propagationPolicy: Orphan}", "", []string{"a", "b"}},
		"some":        {"{propagationPolicy: SelectivelyOrphan, selectivelyOrphans: {orphaningRules: [{resource: configmaps, name: b, namespace: $NS}]}}", "", []string{"b"}},
		"in the end":  {"{propagationPolicy: Foreground}", "{propagationPolicy: Orphan}", []string{"a", "b"}},
		"none at all": {"{propagationPolicy: Orphan}", "{propagationPolicy: Foreground}", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			f.run()
			spec := func(option string) string {
				return `{deleteOption: ` + option + `, workload: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: $NS}}, {apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: $NS}}]}}`
			}
			f.create("w", spec(c.before))
			f.condition("w", "Available", metav1.ConditionTrue)
			if c.after != "" {
				f.update("w", spec(c.after))
				f.condition("w", "Applied", metav1.ConditionTrue)
			}
			f.delete("w")
			f.eventually("the work is gone", func() bool { return f.work("w") == nil && f.record("w") == nil })
			for _, object := range []string{"a", "b"} {
				o, stays := f.object(configMaps, object), false
				for _, s := range c.stays {
					stays = stays || s == object
				}
				if (o != nil) != stays {
					t.Errorf("%s there: %v, want %v", object, o != nil, stays)
				}
				if o != nil && len(o.GetOwnerReferences()) > 0 {
					t.Errorf("%s is still owned", object)
				}
			}
		})
	}
}

func TestExecutorsRightsCount(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.run()
	f.create("w", `{executor: {subject: {type: ServiceAccount, serviceAccount: {namespace: $NS, name: doer}}}, workload: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: $NS}}]}}`)
	f.condition("w", "Applied", metav1.ConditionFalse)
	if message := f.work("w").Status.ResourceStatus.Manifests[0].Conditions[0].Message; !strings.Contains(message, "system:serviceaccount:"+f.namespace+":doer may not get, create, update, delete") {
		t.Errorf("message %q", message)
	}
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "doer", Namespace: f.namespace},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "create", "update", "delete"}}}}
	if _, err := plane.Client.RbacV1().Roles(f.namespace).Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "doer", Namespace: f.namespace}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "doer"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: f.namespace, Name: "doer"}}}
	if _, err := plane.Client.RbacV1().RoleBindings(f.namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.condition("w", "Applied", metav1.ConditionTrue)
}

// A hub that is served no more, or a work that vanished, leaves objects: they go
// after a time of grace, and not before.
func TestEviction(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.EvictionGrace = time.Hour
	stop := f.run()
	f.create("w", `workload: {manifests: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: $NS}}]}`)
	f.condition("w", "Available", metav1.ConditionTrue)
	f.eventually("the record lists the object", func() bool {
		list, _, _ := unstructured.NestedSlice(f.record("w").Object, "status", "appliedResources")
		return len(list) == 1
	})
	stop()

	f.options.Server = "https://another-hub-of-" + f.cluster
	f.options.Cluster = f.namespace // where that hub has no works
	stop = f.run()
	f.eventually("the grace begins", func() bool {
		_, begun, _ := unstructured.NestedString(f.record("w").Object, "status", "evictionStartTime")
		return begun
	})
	if f.object(configMaps, "a") == nil {
		t.Error("the object went before its time")
	}
	stop()

	f.options.EvictionGrace = time.Second
	f.run()
	f.eventually("the object and the record are gone", func() bool { return f.object(configMaps, "a") == nil && f.record("w") == nil })
}

// An agent that starts anew finds everything as it should be.
func TestRestartLeavesObjectsAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	stop := f.run()
	f.create("web", web)
	f.condition("web", "Available", metav1.ConditionTrue)
	stop()
	before := f.object(configMaps, "web-config").GetResourceVersion()
	f.run()
	f.update("web", strings.Replace(web, "replicas: 2", "replicas: 3", 1))
	f.eventually("the new version is applied", func() bool {
		replicas, _, _ := unstructured.NestedInt64(f.object(deployments, "web").Object, "spec", "replicas")
		return replicas == 3
	})
	if after := f.object(configMaps, "web-config").GetResourceVersion(); after != before {
		t.Errorf("the ConfigMap was written: %s, then %s", before, after)
	}
}
