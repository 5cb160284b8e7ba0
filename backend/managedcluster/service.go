package managedcluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"golang.org/x/sync/errgroup"

	"muster.dev/muster/backend/access"
	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/live"
	"muster.dev/muster/backend/registration"
)

const (
	// Topic carries the live rows of managed clusters, by name; viewers may read it.
	Topic = "managed-clusters"
	// DetailTopics is the prefix of the live topics of single managed clusters. An
	// event, without a row, says that something moved of what the cluster's page or
	// its removal plan tells: the cluster, its works, the lease, the certificate
	// requests. Each is read as whoever looks may see it.
	DetailTopics = Topic + "/"
)

// kindManaged is what the audit calls our noun.
const kindManaged = "ManagedCluster"

// Auditor records an intent, runs fn and records what came of it.
type Auditor interface {
	Do(ctx context.Context, action audit.Action, fn func(ctx context.Context) error) error
}

// Publisher brings changed rows to browsers.
type Publisher interface {
	Publish(topic string, event live.Event)
	Seq(topic string) (epoch string, seq uint64)
	// Wanted tells whether somebody reads a topic below a prefix.
	Wanted(topic string) bool
}

// ServiceOptions are what a Service works with.
type ServiceOptions struct {
	// Cache is shared by all readers; whoever may view may see all of it.
	Cache kube.Cache
	// Clients gives the hub API as the actor sees it, not from a cache.
	Clients func(actor access.Actor) (client.Client, error)
	Audit   Auditor
	Live    Publisher
}

// Service is what the dashboard and REST do with managed clusters, on behalf of
// whoever acts in ctx.
type Service struct{ ServiceOptions }

// NewService returns a Service; Start lets it follow the managed clusters.
func NewService(options ServiceOptions) *Service { return &Service{options} }

// Start publishes the changes of managed clusters, of the counts of their works,
// and of what only the page of one shows, until ctx ends.
func (s *Service) Start(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return kube.Follow(ctx, s.Cache, &ocmv1.ManagedCluster{}, s.changed) })
	group.Go(func() error { return kube.Follow(ctx, s.Cache, &ocmworkv1.ManifestWork{}, s.workChanged) })
	group.Go(func() error { return kube.Follow(ctx, s.Cache, &coordinationv1.Lease{}, s.leaseChanged) })
	group.Go(func() error {
		return kube.Follow(ctx, s.Cache, &certificatesv1.CertificateSigningRequest{}, s.requestChanged)
	})
	return group.Wait()
}

// moved tells those who look at one cluster that something of it is new.
func (s *Service) moved(cluster string) {
	if topic := DetailTopics + cluster; cluster != "" && s.Live.Wanted(topic) {
		s.Live.Publish(topic, live.Event{Op: live.OpUpsert, Key: cluster})
	}
}

func (s *Service) leaseChanged(before, after client.Object) {
	if lease := newest(before, after); lease.GetName() == ocmv1.LeaseName {
		s.moved(lease.GetNamespace())
	}
}

func (s *Service) requestChanged(before, after client.Object) {
	s.moved(newest(before, after).GetLabels()[ocmv1.ClusterNameLabel])
}

// newest is an object as it is, or was at the end.
func newest(before, after client.Object) client.Object {
	if after == nil {
		return before
	}
	return after
}

func (s *Service) changed(before, after client.Object) {
	defer s.moved(newest(before, after).GetName())
	if after == nil {
		s.Live.Publish(Topic, live.Event{Op: live.OpDelete, Key: before.GetName()})
		return
	}
	if cluster, ok := after.(*ocmv1.ManagedCluster); ok {
		s.publish(cluster)
	}
}

func (s *Service) publish(cluster *ocmv1.ManagedCluster) {
	row := rowOf(cluster)
	s.complete(context.Background(), &row)
	s.Live.Publish(Topic, live.Event{Op: live.OpUpsert, Key: cluster.Name, Row: row})
}

// workChanged publishes the cluster of a work whose counts have changed.
func (s *Service) workChanged(before, after client.Object) {
	var was, is WorkCounts
	namespace := newest(before, after).GetNamespace()
	s.moved(namespace)
	if work, ok := before.(*ocmworkv1.ManifestWork); ok {
		was.count(work)
	}
	if work, ok := after.(*ocmworkv1.ManifestWork); ok {
		is.count(work)
	}
	if was == is {
		return
	}
	var cluster ocmv1.ManagedCluster
	if s.Cache.Get(context.Background(), client.ObjectKey{Name: namespace}, &cluster) == nil {
		s.publish(&cluster)
	}
}

// complete adds to a row what other objects tell: its works, and which of them
// hold up a removal. What cannot be read is left out.
func (s *Service) complete(ctx context.Context, row *Row) {
	var works ocmworkv1.ManifestWorkList
	if s.Cache.List(ctx, &works, client.InNamespace(row.Name), client.UnsafeDisableDeepCopy) != nil {
		return
	}
	for i := range works.Items {
		row.Works.count(&works.Items[i])
		if row.Removing {
			row.Blocking = append(row.Blocking, "ManifestWork "+works.Items[i].Name)
		}
	}
	slices.Sort(row.Blocking)
}

// Query says which managed clusters to list. Empty fields fit all; a field with
// several values fits any of them.
type Query struct {
	// Text is looked for in name, set, version and URLs.
	Text   string
	States []string
	Sets   []string
	// Dialect is the one the member was registered in.
	Dialect string
	// Label is a label selector.
	Label string
}

// Listing is all managed clusters that fit. Counts are of those that fit but for
// their state, by state.
type Listing struct {
	Rows   []Row
	Counts map[State]int
}

// List returns the managed clusters that fit a query; Complete adds what other
// objects tell to those that are shown. Everybody who is signed in may.
func (s *Service) List(ctx context.Context, query Query) (Listing, error) {
	if err := access.Require(ctx, access.RoleViewer); err != nil {
		return Listing{}, err
	}
	for _, state := range query.States {
		if !slices.Contains(States, State(state)) {
			return Listing{}, fault.Invalid("there is no state %q", state).WithField("state", "use waiting, denied, joining, ready, failed, unknown or removing")
		}
	}
	if query.Dialect != "" && query.Dialect != registration.OriginOCM && query.Dialect != registration.OriginKarmada {
		return Listing{}, fault.Invalid("there is no dialect %q", query.Dialect).WithField("dialect", "use ocm or karmada")
	}
	chosen, err := labels.Parse(query.Label)
	if err != nil {
		return Listing{}, fault.Invalid("%q is not a label selector", query.Label).WithField("label", "write it like tier=edge,region in (eu,us)")
	}
	var clusters ocmv1.ManagedClusterList
	if err := s.Cache.List(ctx, &clusters, client.UnsafeDisableDeepCopy); err != nil {
		return Listing{}, kube.CacheFault("list managed clusters", err)
	}
	listing := Listing{Rows: []Row{}, Counts: map[State]int{}}
	for _, state := range States {
		listing.Counts[state] = 0
	}
	text := strings.ToLower(strings.TrimSpace(query.Text))
	for i := range clusters.Items {
		row := rowOf(&clusters.Items[i])
		if !chosen.Matches(labels.Set(row.Labels)) || !query.fits(&row, text) {
			continue
		}
		listing.Counts[row.State]++
		if len(query.States) == 0 || slices.Contains(query.States, string(row.State)) {
			listing.Rows = append(listing.Rows, row)
		}
	}
	return listing, nil
}

func (q *Query) fits(row *Row, text string) bool {
	if len(q.Sets) > 0 && !slices.Contains(q.Sets, row.Set) || q.Dialect != "" && row.Dialect != q.Dialect {
		return false
	}
	if text == "" {
		return true
	}
	return slices.ContainsFunc(append([]string{row.Name, row.Set, row.KubernetesVersion}, row.URLs...), func(part string) bool {
		return strings.Contains(strings.ToLower(part), text)
	})
}

// Complete adds to rows what other objects tell.
func (s *Service) Complete(ctx context.Context, rows []Row) {
	for i := range rows {
		s.complete(ctx, &rows[i])
	}
}

// as is the hub API as the actor of ctx, who must have a role.
func (s *Service) as(ctx context.Context, least access.Role) (client.Client, error) {
	if err := access.Require(ctx, least); err != nil {
		return nil, err
	}
	actor, _ := access.ActorFrom(ctx)
	hub, err := s.Clients(actor)
	if err != nil {
		return nil, fmt.Errorf("act as %s: %w", actor.Name, err)
	}
	return hub, nil
}

// find reads a ManagedCluster. It fails with fault.NotFound.
func find(ctx context.Context, hub client.Reader, name string) (*ocmv1.ManagedCluster, error) {
	var cluster ocmv1.ManagedCluster
	err := hub.Get(ctx, client.ObjectKey{Name: name}, &cluster)
	if apierrors.IsNotFound(err) {
		return nil, fault.NotFound("there is no managed cluster %s", name)
	}
	if err != nil {
		return nil, kube.CacheFault("read managed cluster "+name, err)
	}
	return &cluster, nil
}

// Get returns one managed cluster in detail, as the actor may see it.
func (s *Service) Get(ctx context.Context, name string) (Detail, error) {
	hub, err := s.as(ctx, access.RoleViewer)
	if err != nil {
		return Detail{}, err
	}
	cluster, err := find(ctx, s.Cache, name)
	if err != nil {
		return Detail{}, err
	}
	detail := detailOf(cluster)
	s.complete(ctx, &detail.Row)
	detail.Lease = leaseOf(ctx, hub, cluster)
	detail.CertificateRequests = append(detail.CertificateRequests, requestsOf(ctx, hub, name)...)
	return detail, nil
}

// leaseOf reads the lease of a cluster's agent. What may not be read is left out.
func leaseOf(ctx context.Context, hub client.Reader, cluster *ocmv1.ManagedCluster) *Lease {
	var lease coordinationv1.Lease
	err := hub.Get(ctx, client.ObjectKey{Namespace: cluster.Name, Name: ocmv1.LeaseName}, &lease)
	if err != nil || lease.Spec.RenewTime == nil || registration.Mirrored(cluster) {
		return nil
	}
	renewed := lease.Spec.RenewTime.UTC()
	return &Lease{RenewedAt: renewed, ExpiresAt: renewed.Add(grace(cluster))}
}

// requestsOf reads the certificate requests of a cluster's agents, newest first.
func requestsOf(ctx context.Context, hub client.Reader, cluster string) []CertificateRequest {
	var list certificatesv1.CertificateSigningRequestList
	if hub.List(ctx, &list, client.MatchingLabels{ocmv1.ClusterNameLabel: cluster}) != nil {
		return nil
	}
	requests := make([]CertificateRequest, 0, len(list.Items))
	for i := range list.Items {
		requests = append(requests, requestOf(&list.Items[i]))
	}
	slices.SortFunc(requests, func(a, b CertificateRequest) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), strings.Compare(a.Name, b.Name))
	})
	return requests
}

func requestOf(csr *certificatesv1.CertificateSigningRequest) CertificateRequest {
	request := CertificateRequest{Name: csr.Name, State: "pending", Requester: registration.PlainText(csr.Spec.Username), CreatedAt: csr.CreationTimestamp.UTC()}
	for i := range csr.Status.Conditions {
		condition := &csr.Status.Conditions[i]
		if condition.Status == corev1.ConditionFalse {
			continue
		}
		switch condition.Type {
		case certificatesv1.CertificateApproved:
			request.State = "approved"
			if len(csr.Status.Certificate) > 0 {
				request.State = "issued"
			}
		case certificatesv1.CertificateDenied:
			request.State = "denied"
		case certificatesv1.CertificateFailed:
			request.State = "failed"
		}
		request.Reason, request.DecidedAt = registration.PlainText(condition.Reason), timeOf(&condition.LastTransitionTime)
	}
	return request
}
