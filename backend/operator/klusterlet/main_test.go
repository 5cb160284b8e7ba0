package klusterlet_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	ocmoperatorv1 "muster.dev/muster/backend/apis/ocm/operator/v1"
	"muster.dev/muster/backend/controlplane/controlplanetest"
	"muster.dev/muster/backend/operator/klusterlet"
	"muster.dev/muster/backend/operator/operatortest"
	"muster.dev/muster/deploy"
)

// The planes are shared by the package: tests use Klusterlets of their own, and those that compare before and after run by themselves.
var planes struct{ member, management, hub *operatortest.Plane }

// served is a hub that serves, for tests which need one; startFirst starts it. They use clusters of their own.
var served struct {
	*controlplanetest.Hub
	dir string
}

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "klusterlet")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	served.dir = filepath.Join(dir, "served")
	defer func() {
		if served.Hub != nil {
			_ = served.Kill() // there is nothing to keep
		}
	}()
	var mu sync.Mutex
	var group errgroup.Group
	var all []*operatortest.Plane
	defer func() {
		for _, p := range all {
			if err := p.Stop(); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}
	}()
	for name, plane := range map[string]**operatortest.Plane{"member": &planes.member, "management": &planes.management, "hub": &planes.hub} {
		group.Go(func() error {
			p, err := operatortest.Start(filepath.Join(dir, name), name)
			mu.Lock()
			defer mu.Unlock()
			if p != nil {
				all = append(all, p)
			}
			*plane = p
			return err
		})
	}
	if err := group.Wait(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// operate runs the controller on a plane.
func operate(t *testing.T, p *operatortest.Plane) {
	t.Helper()
	p.Operate(t, func(ctx context.Context, m ctrl.Manager) error {
		return klusterlet.SetupWithManager(ctx, m, klusterlet.Settings{
			AgentImage: "muster-agent:test", Namespace: "open-cluster-management", Manifests: deploy.Operator(), Kinds: deploy.MemberCRDs(),
		})
	})
}

func newKlusterlet(name string, mode ocmoperatorv1.InstallMode, namespace string) *ocmoperatorv1.Klusterlet {
	return &ocmoperatorv1.Klusterlet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: ocmoperatorv1.KlusterletSpec{
			ClusterName: "cluster1", Namespace: namespace, DeployOption: ocmoperatorv1.KlusterletDeployOption{Mode: mode},
		},
	}
}

func create(t *testing.T, p *operatortest.Plane, namespace, name string, data map[string][]byte) {
	t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: data}
	if err := p.API.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
}
