package operatortest

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/controlplane/controlplanetest"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/operator/component"
	"muster.dev/muster/deploy"
)

const (
	startLimit = 5 * time.Minute
	// Patience bounds the wait for one expected state; nothing is measured by it.
	Patience = 90 * time.Second
	poll     = 100 * time.Millisecond
)

// Plane is one cluster of a test.
type Plane struct {
	*controlplanetest.Member
	// API reads and writes without a cache.
	API client.Client
}

// Start starts a plane called name in dir, with the kinds of the operators on it. The caller stops it.
func Start(dir, name string) (*Plane, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	member, err := controlplanetest.NewMember(ctx, dir, controlplanetest.MemberOptions{Name: name})
	if err != nil {
		return nil, err
	}
	p := &Plane{Member: member}
	if p.API, err = client.New(member.Config(), client.Options{Scheme: kube.Scheme()}); err != nil {
		return nil, err
	}
	kinds, err := component.Kinds(deploy.OperatorCRDs(), []string{
		"clustermanagers.operator.open-cluster-management.io", "klusterlets.operator.open-cluster-management.io",
	})
	if err != nil {
		return nil, err
	}
	if err := component.NewApplier(p.API, nil).ApplyKinds(ctx, kinds); err != nil {
		return nil, err
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "open-cluster-management"}}
	if err := p.API.Create(ctx, namespace); err != nil {
		return nil, fmt.Errorf("create the operator's namespace: %w", err)
	}
	return p, p.filled(ctx, namespace.Name)
}

// filled returns once the controllers have put into a namespace what they put into
// each: a test that compares before and after counts on it.
func (p *Plane) filled(ctx context.Context, namespace string) error {
	return wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
		_, account := p.Client.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
		_, bundle := p.Client.CoreV1().ConfigMaps(namespace).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
		return account == nil && bundle == nil, nil
	})
}

// KubeconfigText is an administrator's kubeconfig of the plane.
func (p *Plane) KubeconfigText(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile(p.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// KubeconfigBehind is that kubeconfig for whoever reaches the plane by a proxy.
func (p *Plane) KubeconfigBehind(t testing.TB, proxy *controlplanetest.ForwardProxy) []byte {
	t.Helper()
	config, err := clientcmd.Load(p.KubeconfigText(t))
	if err != nil {
		t.Fatal(err)
	}
	config.Clusters[config.Contexts[config.CurrentContext].Cluster].ProxyURL = proxy.URL
	text, err := clientcmd.Write(*config)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Operate runs the controllers that setUp adds to a manager of the plane until the test ends.
func (p *Plane) Operate(t testing.TB, setUp func(context.Context, ctrl.Manager) error) {
	t.Helper()
	m, err := kube.NewManager(p.Config(), slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelWarn})))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	if err := setUp(ctx, m); err != nil {
		cancel()
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- m.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// Kubelet reports the pods of a namespace as ready until the test ends.
func (p *Plane) Kubelet(t testing.TB, namespace string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = wait.PollUntilContextCancel(ctx, poll, true, func(ctx context.Context) (bool, error) {
			p.readyPods(ctx, namespace)
			return false, nil
		})
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
}

func (p *Plane) readyPods(ctx context.Context, namespace string) {
	pods := &corev1.PodList{}
	if err := p.API.List(ctx, pods, client.InNamespace(namespace)); err != nil {
		return
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Status.Phase == corev1.PodRunning || pod.DeletionTimestamp != nil {
			continue
		}
		before := pod.DeepCopy()
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
		_ = p.API.Status().Patch(ctx, pod, client.MergeFrom(before)) // a pod that has gone meanwhile
	}
}

// Eventually waits until check is content; what it says last is what a failure tells.
func Eventually(t testing.TB, what string, check func(ctx context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), poll, Patience, true, func(ctx context.Context) (bool, error) {
		err := check(ctx)
		if err == nil || last == nil || ctx.Err() == nil { // the end of patience says nothing of what is waited for
			last = err
		}
		return err == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: %v", what, last)
	}
}

// Gone waits until an object does not exist (any more).
func (p *Plane) Gone(t testing.TB, object client.Object) {
	t.Helper()
	Eventually(t, fmt.Sprintf("%T %s", object, client.ObjectKeyFromObject(object)), func(ctx context.Context) error {
		err := p.API.Get(ctx, client.ObjectKeyFromObject(object), object)
		if component.IsGone(err) {
			return nil
		}
		if err == nil {
			return fmt.Errorf("is still there: %v", object.GetFinalizers())
		}
		return err
	})
}

// Condition checks one condition.
func Condition(conditions []metav1.Condition, kind string, status metav1.ConditionStatus, reason string) error {
	found := meta.FindStatusCondition(conditions, kind)
	switch {
	case found == nil:
		return fmt.Errorf("no condition %s", kind)
	case found.Status != status || reason != "" && found.Reason != reason:
		return fmt.Errorf("%s is %s/%s (%s), want %s/%s", kind, found.Status, found.Reason, found.Message, status, reason)
	}
	return nil
}

// Objects lists all that the plane holds, as controlplanetest.Objects does.
func (p *Plane) Objects(ctx context.Context) (map[string]string, error) {
	return controlplanetest.Objects(ctx, p.Config())
}

// Settled lists what the plane holds once no object of an earlier test is about to go: none whose name holds one of marks.
func (p *Plane) Settled(t testing.TB, marks ...string) map[string]string {
	t.Helper()
	var found map[string]string
	Eventually(t, "earlier tests have cleaned up", func(ctx context.Context) (err error) {
		if found, err = p.Objects(ctx); err != nil {
			return err
		}
		for name := range found {
			for _, mark := range marks {
				if strings.Contains(name, mark) {
					return fmt.Errorf("%s is there", name)
				}
			}
		}
		return nil
	})
	return found
}

// AsBefore waits until the plane holds what it held before: the same objects, not equal ones, and nothing in them is changed.
func (p *Plane) AsBefore(t testing.TB, before map[string]string) {
	t.Helper()
	Eventually(t, p.Name+" as before", func(ctx context.Context) error {
		after, err := p.Objects(ctx)
		if err != nil {
			return err
		}
		if diff := cmp.Diff(before, after); diff != "" {
			return fmt.Errorf("left, lost or changed (-before +after):\n%s", diff)
		}
		return nil
	})
}

type testWriter struct{ t testing.TB }

func (w testWriter) Write(line []byte) (int, error) {
	fmt.Fprintf(os.Stderr, "%s: %s", w.t.Name(), line)
	return len(line), nil
}
