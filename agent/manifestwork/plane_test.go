package manifestwork_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/agent/manifestwork"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
	"muster.dev/muster/backend/controlplane/controlplanetest"
	"muster.dev/muster/deploy"
)

// limit is how long a test waits for what has to happen. Nothing takes that long.
const limit = 4 * time.Minute

// plane is one control plane for all tests of the package: it is hub and member at
// once, which agents cannot know.
var plane *controlplanetest.Member

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "manifestwork")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		if plane, err = controlplanetest.NewMember(ctx, dir, controlplanetest.MemberOptions{Name: "both"}); err != nil {
			panic(err)
		}
		defer func() { _ = plane.Stop() }()
		if err := plane.InstallDefinitions(ctx, deploy.HubCRDs(), deploy.MemberCRDs()); err != nil {
			panic(err)
		}
		return m.Run()
	}())
}

var (
	worksResource   = ocmworkv1.GroupVersion.WithResource("manifestworks")
	recordsResource = ocmworkv1.GroupVersion.WithResource("appliedmanifestworks")
	configMaps      = corev1.SchemeGroupVersion.WithResource("configmaps")
	deployments     = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
)

// fixture is one cluster with its agent. What it applies goes to a namespace of its
// own.
type fixture struct {
	testing.TB
	client    dynamic.Interface
	cluster   string
	namespace string
	options   manifestwork.Options
}

var clusters atomic.Int64

func newFixture(t testing.TB) *fixture {
	t.Helper()
	client, err := dynamic.NewForConfig(plane.Config())
	if err != nil {
		t.Fatal(err)
	}
	n := clusters.Add(1)
	f := &fixture{TB: t, client: client, cluster: fmt.Sprintf("cluster%d", n), namespace: fmt.Sprintf("app%d", n)}
	f.options = manifestwork.Options{Cluster: f.cluster, AgentID: "agent-of-" + f.cluster, Server: "https://hub-of-" + f.cluster, Hub: plane.Config(), Member: plane.Config()}
	for _, name := range []string{f.cluster, f.namespace} {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := plane.Client.CoreV1().Namespaces().Create(t.Context(), namespace, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// run starts the agent; it ends with the test, or when stop is called.
func (f *fixture) run() (stop func()) {
	f.Helper()
	agent, err := manifestwork.New(f.options)
	if err != nil {
		f.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- agent.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			f.Error(err)
		}
	}
	f.Cleanup(stop)
	return stop
}

// fill puts the names of the fixture into a text.
func (f *fixture) fill(text string) string {
	return strings.NewReplacer("$NS", f.namespace, "$CLUSTER", f.cluster).Replace(text)
}

// create makes a work of a spec in YAML.
func (f *fixture) create(name, spec string) {
	f.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork",
		"metadata": map[string]any{"name": name, "namespace": f.cluster}, "spec": f.spec(spec)}}
	if _, err := f.client.Resource(worksResource).Namespace(f.cluster).Create(f.Context(), o, metav1.CreateOptions{}); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) spec(text string) map[string]any {
	f.Helper()
	data, err := yaml.YAMLToJSON([]byte(f.fill(text)))
	if err != nil {
		f.Fatal(err)
	}
	spec := map[string]any{}
	if err := json.Unmarshal(data, &spec); err != nil {
		f.Fatal(err)
	}
	return spec
}

// update replaces the spec of a work.
func (f *fixture) update(name, spec string) {
	f.Helper()
	api := f.client.Resource(worksResource).Namespace(f.cluster)
	for {
		o, err := api.Get(f.Context(), name, metav1.GetOptions{})
		if err != nil {
			f.Fatal(err)
		}
		o.Object["spec"] = f.spec(spec)
		if _, err = api.Update(f.Context(), o, metav1.UpdateOptions{}); err == nil {
			return
		}
		if !apierrors.IsConflict(err) {
			f.Fatal(err)
		}
	}
}

func (f *fixture) delete(name string) {
	f.Helper()
	if err := f.client.Resource(worksResource).Namespace(f.cluster).Delete(f.Context(), name, metav1.DeleteOptions{}); err != nil {
		f.Fatal(err)
	}
}

func (f *fixture) work(name string) *ocmworkv1.ManifestWork {
	f.Helper()
	o, err := f.client.Resource(worksResource).Namespace(f.cluster).Get(f.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		f.Fatal(err)
	}
	work := &ocmworkv1.ManifestWork{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, work); err != nil {
		f.Fatal(err)
	}
	return work
}

// object returns an object of the fixture's namespace, nil if there is none.
func (f *fixture) object(resource schema.GroupVersionResource, name string) *unstructured.Unstructured {
	f.Helper()
	o, err := f.client.Resource(resource).Namespace(f.namespace).Get(f.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		f.Fatal(err)
	}
	return o
}

func (f *fixture) record(work string) *unstructured.Unstructured {
	f.Helper()
	list, err := f.client.Resource(recordsResource).List(f.Context(), metav1.ListOptions{})
	if err != nil {
		f.Fatal(err)
	}
	for i := range list.Items {
		agent, _, _ := unstructured.NestedString(list.Items[i].Object, "spec", "agentID")
		name, _, _ := unstructured.NestedString(list.Items[i].Object, "spec", "manifestWorkName")
		if agent == f.options.AgentID && name == work {
			return &list.Items[i]
		}
	}
	return nil
}

// eventually waits until something holds.
func (f *fixture) eventually(what string, holds func() bool) {
	f.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(limit)
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			list, _ := f.client.Resource(worksResource).Namespace(f.cluster).List(f.Context(), metav1.ListOptions{})
			text, _ := json.Marshal(list)
			f.Fatalf("waited for: %s; works: %s", what, text)
		}
	}
}

// condition waits for a condition of a work and returns it.
func (f *fixture) condition(work, kind string, status metav1.ConditionStatus) *metav1.Condition {
	f.Helper()
	var c *metav1.Condition
	f.eventually(work+": "+kind+" "+string(status), func() bool {
		w := f.work(work)
		c = meta.FindStatusCondition(w.Status.Conditions, kind)
		return c != nil && c.Status == status && c.ObservedGeneration == w.Generation
	})
	return c
}
