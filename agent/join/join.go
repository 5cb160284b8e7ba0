package join

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"muster.dev/muster/backend/agentapi"
	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
)

// Options of one registration.
type Options struct {
	// Hub is HOST:PORT of the hub's API, without scheme.
	Hub string
	// Token and Pins are what "token create" prints.
	Token Token
	Pins  []string
	// ClusterName is the name to register as.
	ClusterName string
	Description
	// Member reaches the cluster that registers.
	Member *rest.Config
	// Namespace is where the agent lives in the member, Image what it runs.
	Namespace, Image string
	// CertificateSeconds is the certificate's lifetime to ask for; 0: the hub's
	// choice.
	CertificateSeconds int32
	// Timeout bounds each wait: for the end of a former agent's namespace, for the
	// certificate's approval, and for Ready.
	Timeout time.Duration
	// Here runs the agent in this process instead of a Deployment: where no
	// kubelet runs. It is given the store of the identity, and runs until its
	// context ends.
	Here func(ctx context.Context, store *Store) error
	// Out is told the stages, a line each.
	Out io.Writer
}

func (o *Options) validate() error {
	if o.Hub == "" || strings.Contains(o.Hub, "://") {
		return errors.New("give the hub as HOST:PORT, without scheme")
	}
	if problems := validation.IsDNS1123Label(o.ClusterName); len(problems) > 0 || len(o.ClusterName) > clusterv1alpha1.MaxNameLength {
		return fmt.Errorf("%q cannot name a cluster: lower case letters, digits and -, at most %d", o.ClusterName, clusterv1alpha1.MaxNameLength)
	}
	if o.ClusterName == apis.RBACGeneratorName {
		return fmt.Errorf("the name %s is reserved", o.ClusterName)
	}
	if o.ClusterNamespace != "" && o.ClusterNamespace != apis.ClusterNamespace {
		return fmt.Errorf("--cluster-namespace %s: the hub keeps what belongs to clusters in %s only, and this agent leaves no credentials there; leave the flag out",
			o.ClusterNamespace, apis.ClusterNamespace)
	}
	return nil
}

func (o *Options) say(stage, format string, a ...any) {
	fmt.Fprintf(o.Out, "[%s] %s\n", stage, fmt.Sprintf(format, a...))
}

// Register joins the member to the hub and returns once the hub shows it Ready.
// With Here it then goes on running the agent until ctx ends. It can be repeated
// after a failure at any point. Errors that an operator can act on are *Failure.
func Register(ctx context.Context, o Options) error {
	if err := o.validate(); err != nil {
		return err
	}
	m, err := newMember(o.Member, o.Namespace)
	if err != nil {
		return err
	}
	if err := o.preflight(ctx, m); err != nil {
		return err
	}
	if err := o.awaitNamespace(ctx, m); err != nil {
		return err
	}
	store := NewStore(m.client, o.Namespace)
	identity, err := o.identity(ctx, store)
	if err != nil {
		return err
	}
	if err := o.install(ctx, m, store, identity); err != nil {
		return err
	}
	return o.start(ctx, m, store, identity)
}

// Preview checks the member like Register and returns the manifests that it would
// create, with the identity left out. The hub is not asked.
func Preview(ctx context.Context, o Options) ([]byte, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	m, err := newMember(o.Member, o.Namespace)
	if err != nil {
		return nil, err
	}
	if err := o.preflight(ctx, m); err != nil {
		return nil, err
	}
	objects := o.objects("made-while-registering")
	return printable(append(objects[:1:1], append([]runtime.Object{identityPreview(o.Namespace)}, objects[1:]...)...))
}

func (o *Options) preflight(ctx context.Context, m *member) error {
	version, err := m.reach(ctx)
	if err != nil {
		return err
	}
	if _, err := m.id(ctx); err != nil {
		return err
	}
	if err := m.mayInstall(ctx); err != nil {
		return err
	}
	o.say("preflight", "this cluster, %s, is %s; we may install the agent", m.host, version)
	if err := m.alone(ctx, o.ClusterName); err != nil {
		return err
	}
	_, err = m.client.AppsV1().Deployments(apis.SystemNamespace).Get(ctx, "karmada-agent", metav1.GetOptions{})
	if err == nil {
		o.say("preflight", "note: a karmada-agent runs here, too; two hubs that place the same objects will refuse each other's")
	}
	return nil
}

// identity returns one that the hub accepts: the one there is, or a new one.
func (o *Options) identity(ctx context.Context, store *Store) (*Identity, error) {
	old, err := store.Load(ctx)
	if err != nil && !errors.Is(err, ErrNoIdentity) {
		o.say("identity", "the identity found here cannot be read and is replaced: %v", err)
		old = nil
	}
	if old != nil {
		usable, err := o.judge(ctx, old)
		if err != nil || usable {
			return old, err
		}
	}
	hub, err := Discover(ctx, o.Hub, o.Token, o.Pins)
	if err != nil {
		return nil, err
	}
	o.say("discovery", "hub %s: CA %s matches the pin, signed by token %s", o.Hub, hub.Pin, o.Token.ID)
	return o.ask(ctx, hub)
}

// judge says whether an identity found in the member serves this registration.
// One for another name or hub is not ours to replace, unless it is dead.
func (o *Options) judge(ctx context.Context, old *Identity) (bool, error) {
	pins, err := Pins(old.CA)
	sameHub := err == nil && overlap(pins, o.Pins)
	if !sameHub || old.Cluster != o.ClusterName {
		if old.Removed || !old.Valid(time.Now()) {
			o.say("identity", "a former registration as %s with %s is over", old.Cluster, old.Server)
			return false, nil
		}
		return false, &Failure{Code: CodeSameCluster, Message: fmt.Sprintf("this cluster is registered as %s with the hub %s", old.Cluster, old.Server),
			Cause: "a cluster belongs to one hub, under one name", Fix: "take it out there first: muster-agent unregister " + old.Cluster}
	}
	if old.Removed || !old.Valid(time.Now()) {
		return false, nil
	}
	hub, err := hubClient(old)
	if err != nil {
		return false, err
	}
	cluster, err := getCluster(ctx, hub, old.Cluster)
	switch {
	case apierrors.IsUnauthorized(err):
		return false, nil
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err): // not created yet, or removed since
		if old.ClusterUID != "" {
			return false, nil
		}
	case err != nil:
		return false, discoveryFailure(o.Hub, err)
	case old.ClusterUID != "" && cluster.UID != old.ClusterUID:
		return false, nil
	}
	o.say("identity", "the certificate found here is valid until %s and is used again", old.Certificate.Leaf.NotAfter.UTC().Format(time.RFC3339))
	return true, nil
}

func overlap(a, b []string) bool {
	for _, x := range a {
		for _, y := range b {
			if x == y {
				return true
			}
		}
	}
	return false
}

// ask gets a certificate with the token.
func (o *Options) ask(ctx context.Context, hub *Hub) (*Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	r := request{cluster: o.ClusterName, seconds: o.CertificateSeconds, waiting: func(name, why string) {
		o.say("identity", "waiting for approval of certificate request %s (%s)", name, why)
	}}
	certificate, key, err := r.send(ctx, &rest.Config{Host: hub.Server, BearerToken: o.Token.Whole(), Timeout: requestTimeout, QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAData: hub.CA}})
	var failure *Failure
	if errors.As(err, &failure) && failure.Code == CodeTokenUnknown {
		// The token was right a moment ago: the hub says what has become of it.
		return nil, cmp.Or(tokenKnown(ctx, hub, o.Token, unsigned), err)
	}
	if err != nil {
		return nil, err
	}
	i, err := newIdentity(hub.Server, hub.CA, certificate, key)
	if err != nil {
		return nil, err
	}
	o.say("identity", "the hub issued a certificate for %s, valid until %s", i.Cluster, i.Certificate.Leaf.NotAfter.UTC().Format(time.RFC3339))
	return i, nil
}

// objects are what the agent consists of, without its Secret. An agent that runs
// here needs a namespace for its Secret, and no more.
func (o *Options) objects(identity string) []runtime.Object {
	objects := deployment{namespace: o.Namespace, image: o.Image, identity: identity, Description: o.Description}.objects()
	if o.Here != nil {
		return objects[:1]
	}
	return objects
}

func (o *Options) install(ctx context.Context, m *member, store *Store, i *Identity) error {
	objects := o.objects(i.fingerprint())
	if err := m.put(ctx, objects[0]); err != nil {
		return err
	}
	if err := store.Save(ctx, i, store.Current() == i); err != nil {
		return err
	}
	for _, object := range objects[1:] {
		if err := m.put(ctx, object); err != nil {
			return err
		}
	}
	if o.Here != nil {
		o.say("install", "the identity is in secret %s/%s", o.Namespace, agentapi.AgentName)
		return nil
	}
	o.say("install", "namespace %s holds the agent, image %s", o.Namespace, o.Image)
	return nil
}

// start waits for the agent to be ready. One that runs here is started first.
func (o *Options) start(ctx context.Context, m *member, store *Store, i *Identity) error {
	hub, err := hubClient(i)
	if err != nil {
		return err
	}
	f := &follow{member: m, store: store, hub: hub, cluster: o.ClusterName, pod: o.Here == nil, identity: i.fingerprint(), image: o.Image, say: o.say}
	if o.Here == nil {
		return o.await(ctx, f)
	}
	run, stop := context.WithCancel(ctx)
	defer stop()
	running := make(chan error, 1)
	go func() { running <- o.Here(run, store) }()
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	ready := make(chan error, 1)
	go func() { ready <- o.await(waiting, f) }()
	select {
	case err := <-running:
		cancel()
		<-ready
		return err
	case err := <-ready:
		if err != nil {
			stop()
			<-running
			return err
		}
	}
	return <-running
}

func (o *Options) await(ctx context.Context, f *follow) error {
	within, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	cluster, err := f.wait(within)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	o.say("ready", "the hub shows %s ready, %s", cluster.Name, cluster.Status.KubernetesVersion)
	return nil
}
