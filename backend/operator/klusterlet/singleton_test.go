package klusterlet_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmoperatorv1 "muster.dev/muster/backend/apis/ocm/operator/v1"
	"muster.dev/muster/backend/controlplane/controlplanetest"
	"muster.dev/muster/backend/operator/operatortest"
)

// connection is what a Klusterlet says of the way to its hub.
func connection(ctx context.Context, p *operatortest.Plane, name string) (string, error) {
	k := &ocmoperatorv1.Klusterlet{}
	if err := p.API.Get(ctx, client.ObjectKey{Name: name}, k); err != nil {
		return "", err
	}
	if found := meta.FindStatusCondition(k.Status.Conditions, ocmoperatorv1.ConditionHubConnectionDegraded); found != nil {
		return found.Message, nil
	}
	return "", nil
}

// runDeployed runs what a Deployment runs as a process, for want of a kubelet: with its command line, the files of its volumes, below a
// directory, and the rights of its account. It returns the arguments of the pod. The process ends when stop is called, or with the test.
func runDeployed(t *testing.T, p *operatortest.Plane, namespace, name string) (arguments []string, stop func()) {
	t.Helper()
	var pod corev1.PodSpec
	operatortest.Eventually(t, "deployment "+name, func(ctx context.Context) error {
		d, err := deployment(ctx, p, namespace, name)
		pod = d.Spec.Template.Spec
		return err
	})
	root := t.TempDir()
	container := pod.Containers[0]
	for _, mount := range container.VolumeMounts {
		i := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name })
		fill(t, p, namespace, pod.Volumes[i], mount.MountPath, filepath.Join(root, mount.MountPath))
	}
	account := filepath.Join(root, "account")
	write(t, account, accountKubeconfig(t, p.API, p.Config(), namespace, pod.ServiceAccountName))
	// What a pod finds at its usual places, a process is told: who and where it is, and that the operator cares for the definitions.
	args := []string{container.Args[0], "--namespace", namespace, "--kubeconfig", account, "--install-definitions=false"}
	for _, arg := range container.Args[1:] {
		args = append(args, strings.Replace(arg, "=/spoke/", "="+root+"/spoke/", 1))
	}
	program, err := controlplanetest.Binary(strings.TrimPrefix(container.Command[0], "/"))
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program, args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+account)
	process, err := controlplanetest.StartProcess(command, filepath.Join(root, "log"))
	if err != nil {
		t.Fatal(err)
	}
	stop = func() {
		if err := process.Kill(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(process.Tail())
		}
		stop()
	})
	return container.Args, stop
}

// fill writes the files of a volume. What they say of each other's places is said of their places here.
func fill(t *testing.T, p *operatortest.Plane, namespace string, volume corev1.Volume, path, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if volume.Secret == nil {
		return
	}
	secret := &corev1.Secret{}
	operatortest.Eventually(t, "secret "+volume.Secret.SecretName, func(ctx context.Context) error {
		return p.API.Get(ctx, client.ObjectKey{Namespace: namespace, Name: volume.Secret.SecretName}, secret)
	})
	for key, content := range secret.Data {
		write(t, filepath.Join(dir, key), []byte(strings.ReplaceAll(string(content), path+"/", dir+"/")))
	}
}

func write(t *testing.T, file string, content []byte) {
	t.Helper()
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// One process is all agents of a cluster, and serves one of two hubs: the first, until that turns the cluster down, then the second, until
// that does, then the first again, which has thought better of it. The time that a hub has is the shortest that the API takes; nobody waits
// for it here.
func TestSingletonOfTwoHubs(t *testing.T) {
	p := planes.member
	before := settled(t, p)
	first, second := startFirst(t), startSecond(t)
	operate(t, p)
	k := newKlusterlet("one", ocmoperatorv1.InstallModeSingleton, "open-cluster-management-one")
	k.Spec.RegistrationConfiguration = &ocmoperatorv1.RegistrationConfiguration{
		FeatureGates: []ocmoperatorv1.FeatureGate{{Feature: "MultipleHubs", Mode: ocmoperatorv1.FeatureEnable}},
		BootstrapKubeConfigs: ocmoperatorv1.BootstrapKubeConfigs{Type: "LocalSecrets", LocalSecrets: &ocmoperatorv1.LocalSecretsConfig{
			HubConnectionTimeoutSeconds: 180, KubeConfigSecrets: []ocmoperatorv1.KubeConfigSecret{{Name: "first-hub"}, {Name: "second-hub"}},
		}},
	}
	if err := p.API.Create(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	operatortest.Eventually(t, "told what is missing", conditions(p, k.Name, "Applied=True/KlusterletApplied", "NotSupported=False", "ValidFeatureGates=True",
		"HubConnectionDegraded=True/BootstrapSecretMissing,HubKubeConfigSecretMissing"))
	create(t, p, k.Spec.Namespace, "first-hub", first.bootstrap(t))
	create(t, p, k.Spec.Namespace, "second-hub", second.bootstrap(t))
	arguments, stop := runDeployed(t, p, k.Spec.Namespace, "one-agent")
	if !slices.Contains(arguments, "--hub-connection-timeout-seconds=180") || !slices.Contains(arguments, "--feature-gates=MultipleHubs=true") {
		t.Errorf("arguments %v", arguments)
	}

	first.letIn(t, "cluster1")
	work := first.give(t, "cluster1", "of-the-first")
	first.applied(t, work, p)
	operatortest.Eventually(t, "the first hub is served", first.connected(p, k.Name))
	if second.knows(t, "cluster1") {
		t.Error("the second hub knows the cluster while the first one is served")
	}

	first.turnDown(t, "cluster1")
	second.letIn(t, "cluster1")
	other := second.give(t, "cluster1", "of-the-second")
	second.applied(t, other, p)
	operatortest.Eventually(t, "the second hub is served", second.connected(p, k.Name))
	second.take(t, other, p)

	if err := errors.Join(first.accept(t.Context(), "cluster1", true), second.accept(t.Context(), "cluster1", false)); err != nil {
		t.Fatal(err)
	}
	again := first.give(t, "cluster1", "of-the-first-again")
	first.applied(t, again, p)
	operatortest.Eventually(t, "the first hub is served again", first.connected(p, k.Name))
	first.take(t, again, p)
	first.take(t, work, p)

	stop()
	removeKlusterlet(t, p, k)
	p.AsBefore(t, before)
}

// One process beside a management cluster's is all agents of another: the works are there, the identity is here.
func TestSingletonHosted(t *testing.T) {
	management, managed := planes.management, planes.member
	before, around := settled(t, managed), settled(t, management)
	hub := startFirst(t)
	operate(t, management)
	k := newKlusterlet("afar", ocmoperatorv1.InstallModeSingletonHosted, "open-cluster-management-afar")
	k.Spec.ClusterName = "afar"
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: k.Name}}
	for _, object := range []client.Object{namespace, k} {
		if err := management.API.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	create(t, management, k.Name, "bootstrap-hub-kubeconfig", hub.bootstrap(t))
	create(t, management, k.Name, "external-managed-kubeconfig", map[string][]byte{"kubeconfig": managed.KubeconfigText(t)})
	_, stop := runDeployed(t, management, k.Name, "afar-agent")

	hub.letIn(t, k.Spec.ClusterName)
	work := hub.give(t, k.Spec.ClusterName, "from-afar")
	hub.applied(t, work, managed)
	operatortest.Eventually(t, "the hub is served", hub.connected(management, k.Name))
	for _, side := range []struct {
		p         *operatortest.Plane
		namespace string
		there     bool
	}{{management, k.Name, true}, {managed, k.Spec.Namespace, false}} {
		err := side.p.API.Get(t.Context(), client.ObjectKey{Namespace: side.namespace, Name: ocmoperatorv1.HubKubeconfigSecret}, &corev1.Secret{})
		if client.IgnoreNotFound(err) != nil || (err == nil) != side.there {
			t.Errorf("the agent's identity in namespace %s of %s: %v", side.namespace, side.p.Name, err)
		}
	}
	hub.take(t, work, managed)

	stop()
	removeKlusterlet(t, management, k)
	management.Gone(t, namespace)
	managed.AsBefore(t, before)
	management.AsBefore(t, around)
}
