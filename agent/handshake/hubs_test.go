package handshake_test

import (
	"path/filepath"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"muster.dev/muster/agent/handshake"
	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	"muster.dev/muster/backend/controlplane/controlplanetest"
)

// hubBehindProxy adds a hub to those that the agent may serve. It is the plane by
// another name, which is silent while its proxy is shut.
func (f *fixture) hubBehindProxy(t *testing.T, name string) *controlplanetest.ForwardProxy {
	t.Helper()
	kubeconfig, err := plane.KubeconfigFor(name+"-of-"+f.cluster, "bootstrappers")
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	rename(config, name)
	proxy := controlplanetest.StartForwardProxy(t)
	config.Clusters[name].ProxyURL = proxy.URL
	file := filepath.Join(t.TempDir(), name)
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	f.options.Bootstraps = append(f.options.Bootstraps, handshake.File(file))
	return proxy
}

// awaitHub approves whatever the agent asks for until it is heard at a hub. A busy
// machine may have it go round once more.
func (f *fixture) awaitHub(name string) {
	f.Helper()
	there := func() bool {
		f.decide(certificatesv1.CertificateApproved)
		identity, err := f.store.Load(f.Context())
		return err == nil && identity != nil && identity.Hub.Name == name
	}
	f.eventually("an identity at the hub "+name, there)
	f.setCondition(metav1.Condition{Type: ocmv1.ConditionAvailable, Status: metav1.ConditionUnknown, Reason: "ManagedClusterLeaseUpdateStopped"})
	f.eventually("a sign of life at the hub "+name, func() bool {
		return there() && meta.IsStatusConditionTrue(f.managed().Status.Conditions, ocmv1.ConditionAvailable)
	})
}

// A hub that does not answer is given up for the next one, and one that has served and
// falls silent is, too. After the last come the first ones: by then they may answer.
// One that nobody knows the way to is passed over.
func TestSilentHubs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.Bootstraps = []handshake.Source{handshake.File(filepath.Join(t.TempDir(), "missing"))}
	first, second := f.hubBehindProxy(t, "first"), f.hubBehindProxy(t, "second")
	f.options.HubTimeout = 5 * time.Second
	first.Shut()
	f.run()
	f.accept()
	f.awaitHub("second")

	first.Open()
	second.Shut()
	f.awaitHub("first")
}
