package joining

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/reach"
	"muster.dev/muster/backend/registration"
)

// provingTimeout bounds the wait for a member to honour the new account; RBAC
// caches there take a moment.
const provingTimeout = 5 * time.Second

// Request is one push join: the hub will dial the member.
type Request struct {
	// Name of the cluster on the hub.
	Name string
	// Namespace of the accounts in the member and the Secrets on the hub; empty
	// for karmada-cluster.
	Namespace string
	// Hub acts on the hub API as whoever asked for the join.
	Hub client.Client
	// Member reaches the member with the operator's own credential, which is used
	// for this join only.
	Member *rest.Config
	// ProxyURL is the forward proxy that Member uses, nil for none.
	ProxyURL *url.URL

	Provider, Region string
	Zones            []string
	Labels           map[string]string
	Annotations      map[string]string
	// Progress is told each step; it may be nil.
	Progress Progress
}

// Validate checks what can be checked without asking anyone.
func (r *Request) Validate() error {
	if err := registration.ValidateName(r.Name); err != nil {
		return err
	}
	for field, value := range map[string]string{"provider": r.Provider, "region": r.Region} {
		if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
			return fault.Invalid("%s %q cannot be used: %s", field, value, problems[0]).WithField(field, problems[0])
		}
	}
	for _, zone := range r.Zones {
		if problems := validation.IsValidLabelValue(zone); zone == "" || len(problems) > 0 {
			return fault.Invalid("zone %q cannot be used", zone).WithField("zones", "must be label values")
		}
	}
	return nil
}

// join is one run of a Request.
type join struct {
	*Request
	member *member
	undo   *undoStack
	id     string
	hub    credential
	proxy  credential
}

// Join registers a member in push mode in the order of contract section 4.2:
// identity, uniqueness, namespace and accounts in the member, Secrets and Cluster
// on the hub. On failure or cancellation it takes back exactly what it made; where a
// hub that does not answer keeps, or may keep, the Cluster, what that needs stays: a
// cluster that works, and not one with dead credentials. It does not wait for the cluster to become ready. Repeating it is safe.
func Join(ctx context.Context, request Request) (*clusterv1alpha1.Cluster, error) {
	run, err := newJoin(request)
	if err != nil {
		return nil, err
	}
	cluster, err := run.all(ctx)
	if err == nil {
		err = ctx.Err() // cancelled during the last step: whoever asked does not want it
	}
	if err == nil {
		return cluster, nil
	}
	if left := run.undo.rollback(ctx, run.Progress); len(left) > 0 {
		return nil, fault.Unavailable("%s; and what it had made could not all be removed: %s", err.Error(), strings.Join(left, ", ")).Wrap(err).
			WithFix("once the hub answers, unjoin the cluster if it is there; if it is not, join again and then unjoin, or remove these by hand")
	}
	return nil, err
}

func newJoin(request Request) (*join, error) {
	if err := request.Validate(); err != nil {
		return nil, err
	}
	if request.Namespace == "" {
		request.Namespace = apis.ClusterNamespace
	}
	client, err := reach.NewClient(request.Member)
	if err != nil {
		return nil, err
	}
	undo := &undoStack{}
	return &join{
		Request: &request, undo: undo,
		member: &member{client: client, cluster: request.Name, namespace: request.Namespace, undo: undo},
	}, nil
}

func (j *join) all(ctx context.Context) (*clusterv1alpha1.Cluster, error) {
	var cluster *clusterv1alpha1.Cluster
	steps := []struct {
		name, detail string
		run          func() error
	}{
		{"member", "read the identity of the member", func() (err error) {
			j.id, err = reach.ID(ctx, j.member.client)
			return err
		}},
		{"unique", "check that neither name nor cluster is registered", func() error { return checkUnique(ctx, j.Hub, j.Name, j.id) }},
		{"namespace", "ensure namespace " + j.Namespace + " in the member", func() error { return j.member.ensureNamespace(ctx) }},
		{"accounts", "ensure accounts, rights and tokens in the member", func() (err error) {
			j.hub, j.proxy, err = j.member.ensureAccounts(ctx)
			return err
		}},
		{"credential", "try the new account", func() error { return j.prove(ctx) }},
		{"secrets", "store the credentials on the hub", func() error { return j.storeSecrets(ctx) }},
		{"cluster", "create cluster " + j.Name, func() (err error) {
			cluster, err = j.createCluster(ctx)
			return err
		}},
		{"owners", "hand the credentials to the cluster", func() error { return j.ownSecrets(ctx, cluster) }},
	}
	for _, step := range steps {
		if err := j.Progress.run(step.name, step.detail, step.run); err != nil {
			return nil, err
		}
	}
	return cluster, nil
}

// checkUnique refuses a name or a physical cluster that is registered already,
// and names the registration. The hub's admission checks again.
func checkUnique(ctx context.Context, hub client.Reader, name, id string) error {
	var clusters clusterv1alpha1.ClusterList
	if err := hub.List(ctx, &clusters); err != nil {
		return hubFault("list clusters", err)
	}
	return unique(clusters.Items, name, id)
}

// unique judges a name and an id against the registered clusters.
func unique(clusters []clusterv1alpha1.Cluster, name, id string) error {
	for i := range clusters {
		other := &clusters[i]
		sameID := id != "" && other.Spec.ID == id
		switch {
		case sameID && other.Name == name:
			return fault.Conflict("this cluster is registered already as %s", other.Name).WithCode(registration.CodeManaged).
				WithFix("nothing needs to be done; to register it anew, remove it first: muster unjoin " + other.Name)
		case sameID:
			return fault.Conflict("this cluster (id %s) is registered already under the name %s", id, other.Name).WithCode(registration.CodeManaged).
				WithFix("use it as " + other.Name + ", or remove that registration first: muster unjoin " + other.Name)
		case other.Name == name:
			return fault.Conflict("another cluster is registered under the name %s", name).WithCode(registration.CodeMemberName).
				WithFix("choose another name, or remove that registration first: muster unjoin " + name)
		}
	}
	return nil
}

// prove tries the new account before anything is written to the hub, and finds
// out which CA verifies the server: the member's own (what a token Secret
// carries), that of the kubeconfig, or the system's. Load balancers and clouds
// serve certificates of any of the three.
func (j *join) prove(ctx context.Context) error {
	var failure error
	for _, ca := range j.authorities() {
		failure = j.tryAccount(ctx, ca)
		if failure == nil {
			j.hub.ca = ca
			return nil
		}
		if _, code := reach.TransportReason(failure); code != registration.CodeTLS {
			break
		}
	}
	return reach.Fault("try the new account", failure)
}

func (j *join) authorities() [][]byte {
	if j.Member.Insecure {
		return [][]byte{j.hub.ca}
	}
	candidates := [][]byte{j.hub.ca, j.Member.CAData, nil}
	return slices.CompactFunc(candidates, func(a, b []byte) bool { return string(a) == string(b) })
}

func (j *join) tryAccount(ctx context.Context, ca []byte) error {
	config := accountConfig(j.Member, j.hub.token, ca)
	account, err := reach.NewClient(config)
	if err != nil {
		return err
	}
	var last error
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, provingTimeout, true, func(ctx context.Context) (bool, error) {
		namespace, err := account.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
		last = err
		if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
			return false, nil
		}
		if err == nil && string(namespace.UID) != j.id {
			return false, fault.Conflict("the address %s leads to more than one cluster", j.Member.Host).WithFix("use an address that always leads to the same cluster")
		}
		return err == nil, err
	})
	if wait.Interrupted(err) && last != nil {
		return last
	}
	return err
}

// accountConfig reaches the same server the same way, with a token instead of
// the operator's credential.
func accountConfig(member *rest.Config, token string, ca []byte) *rest.Config {
	config := &rest.Config{Host: member.Host, BearerToken: token, Proxy: member.Proxy, Dial: member.Dial, Timeout: member.Timeout}
	config.TLSClientConfig = rest.TLSClientConfig{Insecure: member.Insecure}
	if !member.Insecure {
		config.CAData = ca
	}
	return config
}

// Plan lists what Join would do to the member and the hub, in order, and writes
// nothing.
func Plan(ctx context.Context, request Request) ([]PlannedObject, error) {
	run, err := newJoin(request)
	if err != nil {
		return nil, err
	}
	if run.id, err = reach.ID(ctx, run.member.client); err != nil {
		return nil, err
	}
	if err := checkUnique(ctx, request.Hub, request.Name, run.id); err != nil {
		return nil, err
	}
	return run.plan(ctx)
}

// hubFault words an error of the hub API for people.
func hubFault(doing string, err error) error {
	if known, ok := fault.As(err); ok {
		return known
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		if reason, code := reach.TransportReason(err); code != "" {
			return fault.Unavailable("%s: the hub cannot be reached: %s", doing, reason).Wrap(err).
				WithFix("check the address in the hub's kubeconfig, and that the hub is running")
		}
	}
	return fmt.Errorf("%s: %w", doing, kube.Fault(err))
}
