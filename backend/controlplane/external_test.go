package controlplane_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"muster.dev/muster/backend/controlplane"
	"muster.dev/muster/backend/controlplane/controlplanetest"
	"muster.dev/muster/backend/controlplane/webhook"
	"muster.dev/muster/backend/fault"
)

const testLimit = 2 * time.Minute

const thingCRD = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.test.muster.dev}
spec:
  group: test.muster.dev
  scope: Namespaced
  names: {plural: things, singular: thing, kind: Thing, listKind: ThingList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// thingWebhooks asks about things and namespaces, before and after defaults.
const thingWebhooks = `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: things.mutators.muster.dev}
webhooks:
- {name: things.mutators.muster.dev, admissionReviewVersions: [v1], sideEffects: None, failurePolicy: Fail, matchPolicy: Equivalent, timeoutSeconds: 10, reinvocationPolicy: Never,
   namespaceSelector: {}, objectSelector: {}, clientConfig: {service: {name: "", namespace: "", path: /mutate-things}},
   rules: [{apiGroups: [test.muster.dev], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: [things, things/status], scope: "*"}]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: things.validators.muster.dev}
webhooks:
- {name: things.validators.muster.dev, admissionReviewVersions: [v1], sideEffects: None, failurePolicy: Fail, matchPolicy: Equivalent, timeoutSeconds: 10,
   namespaceSelector: {}, objectSelector: {}, clientConfig: {service: {name: "", namespace: "", path: /validate-things}},
   rules: [{apiGroups: [test.muster.dev], apiVersions: ["*"], operations: [CREATE, UPDATE, DELETE], resources: [things, things/status], scope: "*"}]}
`

var things = schema.GroupVersionResource{Group: "test.muster.dev", Version: "v1", Resource: "things"}

// thingAdmission uses what admission can see and do.
type thingAdmission struct{}

func (thingAdmission) Admit(_ context.Context, a admission.Attributes) error {
	if a.GetResource().GroupResource() != things.GroupResource() || a.GetObject() == nil || a.GetSubresource() != "" {
		return nil
	}
	object := a.GetObject().(*unstructured.Unstructured)
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels["test.muster.dev/operation"], labels["test.muster.dev/dry"] = strings.ToLower(string(a.GetOperation())), fmt.Sprint(a.IsDryRun())
	object.SetLabels(labels)
	if list, found, _ := unstructured.NestedSlice(object.Object, "spec", "list"); found {
		return unstructured.SetNestedSlice(object.Object, append(list, int64(len(list))), "spec", "list")
	}
	unstructured.RemoveNestedField(object.Object, "spec", "secret")
	if mutates, _, _ := unstructured.NestedString(object.Object, "spec", "mutation"); mutates == "refuse" {
		return apierrors.NewBadRequest("not while it is changed")
	}
	return nil
}

func (thingAdmission) Validate(_ context.Context, a admission.Attributes) error {
	if a.GetResource().GroupResource() != things.GroupResource() {
		return nil
	}
	if a.GetOperation() == admission.Delete {
		if old, ok := a.GetOldObject().(*unstructured.Unstructured); ok && old.GetAnnotations()["keep"] != "" {
			return admission.NewForbidden(a, errors.New("it is kept"))
		}
		return nil
	}
	want, _, _ := unstructured.NestedString(a.GetObject().(*unstructured.Unstructured).Object, "spec", "answer")
	switch want {
	case "bad":
		return apierrors.NewBadRequest("bad it is")
	case "forbidden":
		return admission.NewForbidden(a, errors.New("they may not"))
	case "invalid":
		return apierrors.NewInvalid(a.GetKind().GroupKind(), a.GetName(), nil)
	case "exists":
		return apierrors.NewAlreadyExists(things.GroupResource(), "x")
	case "broken":
		return errors.New("out of order")
	case "changed":
		if a.GetOldObject() == nil {
			return apierrors.NewBadRequest("there is no old one")
		}
	}
	return nil
}

func thingKinds() fstest.MapFS { return fstest.MapFS{"things.yaml": {Data: []byte(thingCRD)}} }

// externalOptions run a plane on a member; change varies them.
func externalOptions(t *testing.T, member *controlplanetest.Member, change func(*controlplane.ExternalOptions)) controlplane.ExternalOptions {
	t.Helper()
	address, err := controlplanetest.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	options := controlplane.ExternalOptions{
		API: member.Config(), Namespace: "hub", CRDs: thingKinds(), InstallCRDs: true,
		Webhooks: webhook.Options{
			Listen: address, URL: "https://" + address, Configure: true, Admission: []controlplane.Admission{thingAdmission{}}, Scheme: clientgoscheme.Scheme,
			Configurations: fstest.MapFS{"things.yaml": {Data: []byte(thingWebhooks)}},
		},
		Signing: controlplane.SigningOptions{Patience: 300 * time.Millisecond, Annotation: "muster.dev/waiting"},
	}
	if change != nil {
		change(&options)
	}
	return options
}

// startExternal runs a plane until the returned function or the test ends it.
func startExternal(t *testing.T, options controlplane.ExternalOptions) (*controlplane.External, func()) {
	t.Helper()
	plane, err := controlplane.NewExternal(options)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- plane.Start(ctx) }()
	done := false
	end := func() {
		if done {
			return
		}
		done = true
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(end)
	select {
	case <-plane.Serving():
	case err := <-ended:
		t.Fatal(err)
	case <-time.After(testLimit):
		t.Fatal("the plane does not become ready")
	}
	return plane, end
}

// lead makes a plane the one that acts.
func lead(t *testing.T, plane *controlplane.External) func() {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- plane.Lead(ctx) }()
	end := func() {
		if ctx.Err() != nil {
			return
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(end)
	return end
}

func await(t *testing.T, what string, holds func(ctx context.Context) bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, testLimit, true, func(ctx context.Context) (bool, error) { return holds(ctx), nil })
	if err != nil {
		t.Fatalf("wait for %s: %v", what, err)
	}
}

func awaitWebhooks(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	await(t, "webhook configurations", func(ctx context.Context) bool {
		_, mutating := client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(ctx, "things.mutators.muster.dev", metav1.GetOptions{})
		_, validating := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, "things.validators.muster.dev", metav1.GetOptions{})
		return mutating == nil && validating == nil
	})
}

func dynamicClient(t *testing.T, config *rest.Config) dynamic.ResourceInterface {
	t.Helper()
	config = rest.CopyConfig(config)
	config.QPS = -1
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client.Resource(things).Namespace(metav1.NamespaceDefault)
}

// TestExternal runs a plane on a real API server: what it installs, what it
// knows, and that a restart finds what is there.
func TestExternal(t *testing.T) {
	member := controlplanetest.Start(t)
	var bootstraps int
	options := externalOptions(t, member, func(o *controlplane.ExternalOptions) {
		o.Bootstrap = func(context.Context, *rest.Config) error { bootstraps++; return nil }
	})
	plane, stop := startExternal(t, options)
	if err := plane.Ready(); err != nil {
		t.Errorf("ready: %v", err)
	}
	if diff := cmp.Diff([]string{string(member.CA()), strings.TrimPrefix(member.Server, "https://"), "member-admin"},
		[]string{string(plane.CA()), plane.Address(), plane.User()}); diff != "" {
		t.Errorf("what the plane knows (-want +got):\n%s", diff)
	}
	endLead := lead(t, plane)
	awaitWebhooks(t, member.Client)
	hub := dynamicClient(t, member.Config())
	made := create(t, hub, "first", nil)
	if made.GetLabels()["test.muster.dev/operation"] != "create" {
		t.Errorf("labels %v", made.GetLabels())
	}
	secret, err := member.Client.CoreV1().Secrets("hub").Get(t.Context(), controlplane.ServingSecret, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// Somebody tampers with the configuration, then the hub starts anew.
	endLead()
	stop()
	validators := member.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	if _, err := validators.Patch(t.Context(), "things.validators.muster.dev", types.JSONPatchType, []byte(`[{"op":"replace","path":"/webhooks/0/failurePolicy","value":"Ignore"}]`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	again, _ := startExternal(t, options)
	lead(t, again)
	await(t, "the configuration to be put back", func(ctx context.Context) bool {
		kept, err := validators.Get(ctx, "things.validators.muster.dev", metav1.GetOptions{})
		return err == nil && *kept.Webhooks[0].FailurePolicy == "Fail"
	})
	kept, err := member.Client.CoreV1().Secrets("hub").Get(t.Context(), controlplane.ServingSecret, metav1.GetOptions{})
	if err != nil || kept.UID != secret.UID || kept.ResourceVersion != secret.ResourceVersion {
		t.Errorf("the serving authority was replaced: %v", err)
	}
	create(t, hub, "second", nil)
	if bootstraps != 2 {
		t.Errorf("%d bootstraps, want one for each start", bootstraps)
	}
}

func create(t *testing.T, hub dynamic.ResourceInterface, name string, spec map[string]any) *unstructured.Unstructured {
	t.Helper()
	thing := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "test.muster.dev/v1", "kind": "Thing", "metadata": map[string]any{"name": name}}}
	if spec != nil {
		thing.Object["spec"] = spec
	}
	made, err := hub.Create(t.Context(), thing, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestExternalRefusals are starts that cannot succeed, in words for their operator.
func TestExternalRefusals(t *testing.T) {
	member := controlplanetest.Start(t)
	certFile, keyFile := member.CAFiles()
	stranger, err := controlplanetest.NewAuthority("stranger")
	if err != nil {
		t.Fatal(err)
	}
	strangerCert, strangerKey := filepath.Join(t.TempDir(), "ca.crt"), filepath.Join(t.TempDir(), "ca.key")
	for file, data := range map[string][]byte{strangerCert: stranger.CertPEM, strangerKey: stranger.KeyPEM} {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		change func(*controlplane.ExternalOptions)
		kind   fault.Kind
		leads  bool
	}{
		"no rights": {func(o *controlplane.ExternalOptions) {
			o.API.Impersonate = rest.ImpersonationConfig{UserName: "nobody-in-particular", Groups: []string{"system:authenticated"}}
		}, fault.KindForbidden, false},
		"no credentials": {func(o *controlplane.ExternalOptions) {
			o.API.CertData, o.API.KeyData, o.API.BearerToken = nil, nil, "wrong"
		}, fault.KindUnauthenticated, false},
		"webhooks nowhere":     {func(o *controlplane.ExternalOptions) { o.Webhooks.URL = "" }, fault.KindInvalid, false},
		"half a certificate":   {func(o *controlplane.ExternalOptions) { o.Webhooks.CertFile = certFile }, fault.KindInvalid, false},
		"certificate, no CA":   {func(o *controlplane.ExternalOptions) { o.Webhooks.CertFile, o.Webhooks.KeyFile = certFile, keyFile }, fault.KindInvalid, false},
		"signs without a CA":   {func(o *controlplane.ExternalOptions) { o.Signing.Sign = true }, fault.KindInvalid, false},
		"a CA without signing": {func(o *controlplane.ExternalOptions) { o.Signing.CertFile = certFile }, fault.KindInvalid, false},
		"another CA": {func(o *controlplane.ExternalOptions) {
			o.Signing.Sign, o.Signing.CertFile, o.Signing.KeyFile = true, strangerCert, strangerKey
		}, fault.KindInvalid, true},
	} {
		t.Run(name, func(t *testing.T) {
			options := externalOptions(t, member, test.change)
			plane, err := controlplane.NewExternal(options)
			if err == nil && !test.leads {
				ctx, cancel := context.WithTimeout(t.Context(), testLimit)
				defer cancel()
				err = plane.Start(ctx)
			}
			if test.leads {
				plane, _ = startExternal(t, externalOptions(t, member, test.change))
				ctx, cancel := context.WithTimeout(t.Context(), testLimit)
				defer cancel()
				err = plane.Lead(ctx)
			}
			known, ok := fault.As(err)
			if !ok || known.Kind != test.kind || known.Fix == "" {
				t.Errorf("got %v, want a fault of kind %s that says what to do", err, test.kind)
			}
		})
	}
}

// TestExternalSaysWhenTheAPIIsGone stops the API under a plane.
func TestExternalSaysWhenTheAPIIsGone(t *testing.T) {
	member := controlplanetest.Start(t)
	plane, _ := startExternal(t, externalOptions(t, member, nil))
	if err := member.Kill(); err != nil {
		t.Fatal(err)
	}
	await(t, "the plane to notice", func(context.Context) bool { return fault.Is(plane.Ready(), fault.KindUnavailable) })
}

func embeddedPlane(t *testing.T) *controlplane.Embedded {
	t.Helper()
	listen, err := controlplanetest.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	plane, err := controlplane.NewEmbedded(controlplane.Options{
		DataDir: t.TempDir(), Listen: listen, Advertise: listen, CRDs: thingKinds(), Admission: []controlplane.Admission{thingAdmission{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- plane.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	select {
	case <-plane.Serving():
	case err := <-ended:
		t.Fatal(err)
	case <-time.After(testLimit):
		t.Fatal("the plane does not become ready")
	}
	return plane
}
