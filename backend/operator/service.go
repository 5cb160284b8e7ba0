package operator

import (
	"context"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/access"
	ocmoperatorv1 "muster.dev/muster/backend/apis/ocm/operator/v1"
	"muster.dev/muster/backend/kube"
	"muster.dev/muster/backend/live"
	"muster.dev/muster/backend/registration"
)

// Topic carries the live rows of ClusterManagers and Klusterlets, by Row.Key;
// viewers may read it.
const Topic = "operators"

// Publisher brings changed rows to browsers.
type Publisher interface {
	Publish(topic string, event live.Event)
	Seq(topic string) (epoch string, seq uint64)
}

// ServiceOptions are what a Service works with.
type ServiceOptions struct {
	// Cache is shared by all readers; whoever may view may see all of it.
	Cache kube.Cache
	Live  Publisher
}

// Service shows what the operators put where, and how it is.
type Service struct{ ServiceOptions }

// NewService returns a Service; Start lets it follow both kinds.
func NewService(options ServiceOptions) *Service { return &Service{options} }

// Start publishes the changes of both kinds until ctx ends. A plane that serves
// none of them has nothing to tell.
func (s *Service) Start(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, object := range []client.Object{&ocmoperatorv1.ClusterManager{}, &ocmoperatorv1.Klusterlet{}} {
		group.Go(func() error { return kube.Follow(ctx, s.Cache, object, s.changed) })
	}
	return group.Wait()
}

func (s *Service) changed(before, after client.Object) {
	if after == nil {
		if row, ok := rowOf(before); ok {
			s.Live.Publish(Topic, live.Event{Op: live.OpDelete, Key: row.Key()})
		}
		return
	}
	if row, ok := rowOf(after); ok {
		s.Live.Publish(Topic, live.Event{Op: live.OpUpsert, Key: row.Key(), Row: row})
	}
}

// Row is one ClusterManager or Klusterlet.
type Row struct {
	Kind string `json:"kind" enums:"ClusterManager,Klusterlet"`
	Name string `json:"name"`
	Mode string `json:"mode"`
	// Namespace holds the agents of a Klusterlet; ClusterName is what it registers.
	Namespace   string `json:"namespace,omitempty" validate:"optional"`
	ClusterName string `json:"clusterName,omitempty" validate:"optional"`
	// State is ready, progressing, degraded, or pending as long as no operator has
	// said anything. Reason and Message say why it is not ready.
	State   string `json:"state" enums:"ready,progressing,degraded,pending,removing"`
	Reason  string `json:"reason,omitempty" validate:"optional"`
	Message string `json:"message,omitempty" validate:"optional"`
	// Current tells that the operator has seen the newest version of it.
	Current    bool        `json:"current"`
	Conditions []Condition `json:"conditions"`
	// Related are the objects that the operator applied.
	Related   []Related `json:"related"`
	CreatedAt time.Time `json:"createdAt"`
}

// Key is the row's key in the live topic.
func (r *Row) Key() string { return r.Kind + "/" + r.Name }

// Condition is one condition of an operator's object.
type Condition struct {
	Type               string    `json:"type"`
	Status             string    `json:"status" enums:"True,False,Unknown"`
	Reason             string    `json:"reason"`
	Message            string    `json:"message"`
	LastTransitionTime time.Time `json:"lastTransitionTime"`
	// Well tells that the status is the one to wish for: of what is degraded or
	// progressing that is False.
	Well bool `json:"well"`
}

// Related is an object that an operator applied.
type Related struct {
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty" validate:"optional"`
	Name      string `json:"name"`
	// Generation is the last that the operator saw, 0 if it watches none.
	Generation int64 `json:"generation"`
}

// Operators are what GET /operators shows.
type Operators struct {
	ClusterManagers []Row `json:"clusterManagers"`
	Klusterlets     []Row `json:"klusterlets"`
	// Epoch and Seq say which live message this already holds.
	Epoch string `json:"epoch"`
	Seq   uint64 `json:"seq"`
}

// List returns all ClusterManagers and Klusterlets by name. A plane that does not
// serve a kind has none of it. Everybody who is signed in may.
func (s *Service) List(ctx context.Context) (Operators, error) {
	if err := access.Require(ctx, access.RoleViewer); err != nil {
		return Operators{}, err
	}
	all := Operators{ClusterManagers: []Row{}, Klusterlets: []Row{}}
	all.Epoch, all.Seq = s.Live.Seq(Topic) // before reading: what comes later is a message
	var managers ocmoperatorv1.ClusterManagerList
	if err := s.Cache.List(ctx, &managers); err != nil && !kube.NotServed(err) {
		return Operators{}, kube.CacheFault("list cluster managers", err)
	}
	for i := range managers.Items {
		row, _ := rowOf(&managers.Items[i])
		all.ClusterManagers = append(all.ClusterManagers, row)
	}
	var klusterlets ocmoperatorv1.KlusterletList
	if err := s.Cache.List(ctx, &klusterlets); err != nil && !kube.NotServed(err) {
		return Operators{}, kube.CacheFault("list klusterlets", err)
	}
	for i := range klusterlets.Items {
		row, _ := rowOf(&klusterlets.Items[i])
		all.Klusterlets = append(all.Klusterlets, row)
	}
	byName := func(a, b Row) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(all.ClusterManagers, byName)
	slices.SortFunc(all.Klusterlets, byName)
	return all, nil
}

// defaultMode is the mode of an object that names none.
const defaultMode = "Default"

// rowOf is an operator's object as a row; ok is false for other kinds.
func rowOf(object client.Object) (row Row, ok bool) {
	switch object := object.(type) {
	case *ocmoperatorv1.ClusterManager:
		row = Row{Kind: "ClusterManager", Mode: string(object.Spec.DeployOption.Mode)}
		row.judge(object, &object.Status)
	case *ocmoperatorv1.Klusterlet:
		row = Row{Kind: "Klusterlet", Mode: string(object.Spec.DeployOption.Mode), Namespace: object.Spec.Namespace, ClusterName: object.Spec.ClusterName}
		row.judge(object, &object.Status)
	default:
		return Row{}, false
	}
	if row.Mode == "" {
		row.Mode = defaultMode
	}
	return row, true
}

// badWhenTrue tells that the status to wish for of a condition is False.
func badWhenTrue(kind string) bool {
	return strings.HasSuffix(kind, "Degraded") || slices.Contains([]string{ocmoperatorv1.ConditionProgressing, "NotSupported", "CleanupBlocked"}, kind)
}

// plainLines is plain text that keeps its lines: a condition has one for each thing it speaks of.
func plainLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = registration.PlainText(lines[i])
	}
	return strings.Join(lines, "\n")
}

// judge fills in what both kinds have.
func (r *Row) judge(object client.Object, status *ocmoperatorv1.OperatorStatus) {
	r.Name, r.CreatedAt, r.Current = object.GetName(), object.GetCreationTimestamp().UTC(), status.ObservedGeneration == object.GetGeneration()
	r.Conditions, r.Related, r.State = []Condition{}, relatedOf(status), "ready"
	for i := range status.Conditions {
		c := &status.Conditions[i]
		shown := Condition{
			Type: registration.PlainText(c.Type), Status: string(c.Status), Reason: registration.PlainText(c.Reason), Message: plainLines(c.Message),
			LastTransitionTime: c.LastTransitionTime.UTC(),
		}
		wish := metav1.ConditionTrue
		if badWhenTrue(c.Type) {
			wish = metav1.ConditionFalse
		}
		shown.Well = c.Status == wish
		r.Conditions = append(r.Conditions, shown)
		switch {
		case shown.Well || r.State == "degraded":
		case c.Type == ocmoperatorv1.ConditionProgressing:
			r.State, r.Reason, r.Message = "progressing", shown.Reason, shown.Message
		default:
			r.State, r.Reason, r.Message = "degraded", shown.Reason, shown.Message
		}
	}
	slices.SortFunc(r.Conditions, func(a, b Condition) int { return strings.Compare(a.Type, b.Type) })
	switch {
	case object.GetDeletionTimestamp() != nil:
		r.State = "removing"
	case len(r.Conditions) == 0:
		r.State, r.Reason, r.Message = "pending", "NoOperator", "No operator has looked at it yet."
	}
}

func relatedOf(status *ocmoperatorv1.OperatorStatus) []Related {
	generations := map[string]int64{}
	for _, g := range status.Generations {
		generations[g.Group+"/"+g.Resource+"/"+g.Namespace+"/"+g.Name] = g.LastGeneration
	}
	related := make([]Related, 0, len(status.RelatedResources))
	for _, one := range status.RelatedResources {
		resource := one.Resource
		if one.Group != "" {
			resource += "." + one.Group
		}
		related = append(related, Related{
			Resource: resource, Namespace: one.Namespace, Name: one.Name, Generation: generations[one.Group+"/"+one.Resource+"/"+one.Namespace+"/"+one.Name],
		})
	}
	return related
}
