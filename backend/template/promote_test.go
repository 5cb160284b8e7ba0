package template_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/agent/interpret"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	"muster.dev/muster/backend/controlplane/controlplanetest"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/template"
)

// proxied is a configuration for the hub's API with the cluster proxy, which the
// hub of these tests does not have.
func proxied(t *testing.T, hub, member *rest.Config) *rest.Config {
	t.Helper()
	const prefix = "/apis/cluster.karmada.io/v1alpha1/clusters/m1/proxy"
	forward := func(config *rest.Config) http.Handler {
		target, err := url.Parse(config.Host)
		if err != nil {
			t.Fatal(err)
		}
		transport, err := rest.TransportFor(config)
		if err != nil {
			t.Fatal(err)
		}
		p := httputil.NewSingleHostReverseProxy(target)
		p.Transport = transport
		return p
	}
	mux := http.NewServeMux()
	mux.Handle("/", forward(hub))
	mux.Handle(prefix+"/", http.StripPrefix(prefix, forward(member)))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL, QPS: -1}
}

func testPromote(t *testing.T, f *fixture) {
	member := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "m1"})
	legacy := using(newDeployment("default", "legacy", 2), "legacy-conf")
	legacy.Annotations = map[string]string{"deployment.kubernetes.io/revision": "1"}
	for _, create := range []func() error{
		func() error {
			_, err := member.Client.AppsV1().Deployments("default").Create(t.Context(), legacy, metav1.CreateOptions{})
			return err
		},
		func() error {
			_, err := member.Client.CoreV1().ConfigMaps("default").Create(t.Context(), newConfigMap("default", "legacy-conf"), metav1.CreateOptions{})
			return err
		},
		func() error {
			_, err := member.Client.CoreV1().ConfigMaps("default").Create(t.Context(), newConfigMap("default", "spare"), metav1.CreateOptions{})
			return err
		},
		func() error {
			_, err := member.Client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "old-shop"}}, metav1.CreateOptions{})
			return err
		},
	} {
		if err := create(); err != nil {
			t.Fatal(err)
		}
	}
	f.Create(t, &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1"}})
	request := template.PromoteRequest{Hub: proxied(t, f.Config(), member.Config()), Cluster: "m1", Type: "deploy", Namespace: "default", Name: "legacy"}
	t.Run("through the proxy", func(t *testing.T) { testPromoteAsRecorded(t, f, request) })
	t.Run("cluster scope, own kubeconfig", func(t *testing.T) {
		request := request
		request.Type, request.Name, request.Hub, request.Member, request.PolicyName = "namespaces", "old-shop", f.Config(), member.Config(), "shop"
		p, err := template.PlanPromotion(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := p.Policy.(*policyv1alpha1.ClusterPropagationPolicy); !ok || p.Policy.GetName() != "shop" || p.Template.GetNamespace() != "" {
			t.Errorf("the policy is %T %s", p.Policy, p.Policy.GetName())
		}
	})
	for name, edit := range map[string]func(*template.PromoteRequest){
		"the hub has no cluster m2":                      func(r *template.PromoteRequest) { r.Cluster = "m2" },
		"cluster m1 has no Deployment nobody":            func(r *template.PromoteRequest) { r.Name = "nobody" },
		"the cluster does not serve \"gadgets\"":         func(r *template.PromoteRequest) { r.Type = "gadgets" },
		"PropagationPolicy default/taken exists already": func(r *template.PromoteRequest) { r.Type, r.Name, r.PolicyName = "cm", "spare", "taken" },
	} {
		t.Run(name, func(t *testing.T) {
			f.Create(t, newPP("default", "taken", sel("v1", "ConfigMap", "nobody", nil)))
			request := request
			edit(&request)
			_, err := template.PlanPromotion(t.Context(), request)
			if known, ok := fault.As(err); !ok || known.Fix == "" || !strings.Contains(err.Error(), name) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func testPromoteAsRecorded(t *testing.T, f *fixture, request template.PromoteRequest) {
	request.Interpreter = interpret.Native()
	p, err := template.PlanPromotion(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	var made []string
	if err := p.Create(t.Context(), func(kind, _, name string) { made = append(made, kind+" "+name) }); err != nil {
		t.Fatal(err)
	}
	if want := []string{"ResourceTemplate legacy", "ResourceTemplate legacy-conf", "PropagationPolicy legacy-6d7f8d5f5b"}; !slices.Equal(made, want) {
		t.Errorf("made %v, want %v", made, want)
	}
	var stored appsv1.Deployment
	if err := f.Client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "legacy"}, &stored); err != nil {
		t.Fatal(err)
	}
	if stored.Annotations["work.karmada.io/conflict-resolution"] != "overwrite" || stored.Annotations["deployment.kubernetes.io/revision"] != "" || *stored.Spec.Replicas != 2 {
		t.Errorf("the template is %+v", stored)
	}
	var policy policyv1alpha1.PropagationPolicy
	if err := f.Client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "legacy-6d7f8d5f5b"}, &policy); err != nil {
		t.Fatal(err)
	}
	want := policyv1alpha1.PropagationSpec{
		ResourceSelectors: []policyv1alpha1.ResourceSelector{{APIVersion: "apps/v1", Kind: "Deployment", Name: "legacy"}},
		Placement:         policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{"m1"}}},
		PropagateDeps:     true, ConflictResolution: policyv1alpha1.ConflictOverwrite, PreserveResourcesOnDeletion: ptr.To(true),
	}
	planned, ok := p.Policy.(*policyv1alpha1.PropagationPolicy)
	if !ok {
		t.Fatalf("the policy is a %T", p.Policy)
	}
	if diff := difference(want, planned.Spec); diff != "" {
		t.Error(diff)
	}
	if policy.Spec.Priority == nil || policy.Spec.SchedulerName == "" { // the schema's defaults
		t.Errorf("the stored policy is %+v", policy.Spec)
	}
	again, err := template.PlanPromotion(t.Context(), request)
	if err != nil || !again.Exists {
		t.Errorf("promoting again: %v, exists %v", err, again != nil && again.Exists)
	}
}
