package pods

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/template"
	"muster.dev/muster/backend/workload/fact"
)

const (
	// deadline bounds one look into a member.
	deadline = 2 * time.Second
	// fresh is how long an answer serves others who ask the same.
	fresh = 5 * time.Second
	// keep bounds how many answers serve others at a time.
	keep = 1000
	// atOnce bounds the looks into one member at the same time.
	atOnce = 3
	// page and pages bound the pods that are counted.
	page, pages = 500, 10
)

// Members tells how to reach members as the hub; *kube.Members is one.
type Members interface {
	Config(ctx context.Context, cluster *clusterv1alpha1.Cluster) (*rest.Config, error)
}

// Options are what a Reader works with.
type Options struct {
	Members Members
	// Now tells the time; nil: time.Now.
	Now func() time.Time
	// Deadline bounds one look; 0: two seconds.
	Deadline time.Duration
}

// Reader looks into members.
type Reader struct {
	Options

	mu      sync.Mutex
	answers map[question]*shared
	members map[string]*queue
}

// question is what somebody may ask.
type question struct {
	cluster string
	object  template.Ref
}

// shared is an answer that several wait for, and that serves those who ask soon
// after.
type shared struct {
	done   chan struct{}
	answer Answer    // once done
	until  time.Time // zero: under way
}

// queue lets a few at a time ask one member.
type queue struct {
	slots chan struct{}
	users int
}

// NewReader returns a Reader.
func NewReader(options Options) *Reader {
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.Deadline == 0 {
		options.Deadline = deadline
	}
	return &Reader{Options: options, answers: map[question]*shared{}, members: map[string]*queue{}}
}

// Has says whether objects of a kind have pods that can be looked at.
func Has(ref template.Ref) bool { return getters[groupKind(ref)] != nil }

// Read tells of the pods of an object in a member. It fails only when ctx ends
// before others who asked the same have the answer.
func (r *Reader) Read(ctx context.Context, cluster *clusterv1alpha1.Cluster, object template.Ref) (Answer, error) {
	asked := question{cluster: cluster.Name, object: object}
	r.mu.Lock()
	now := r.Now()
	for old, one := range r.answers {
		if !one.until.IsZero() && !now.Before(one.until) {
			delete(r.answers, old)
		}
	}
	known := r.answers[asked]
	if known == nil {
		known = &shared{done: make(chan struct{})}
		r.answers[asked] = known
		r.mu.Unlock()
		r.answerAll(ctx, asked, known, cluster)
		return known.answer, nil
	}
	r.mu.Unlock()
	select {
	case <-known.done:
		answer := known.answer
		answer.Shared = true
		return answer, nil
	case <-ctx.Done():
		return Answer{}, fmt.Errorf("wait for the pods of %s in %s: %w", object.Name, cluster.Name, ctx.Err())
	}
}

// answerAll finds the answer for all who wait for it; that the first of them
// leaves does not matter.
func (r *Reader) answerAll(ctx context.Context, asked question, into *shared, cluster *clusterv1alpha1.Cluster) {
	defer func() {
		r.mu.Lock()
		if into.until = r.Now(); len(r.answers) <= keep {
			into.until = into.until.Add(fresh)
		}
		r.mu.Unlock()
		close(into.done)
	}()
	into.answer = unreachable(fact.LevelWarn, fact.CodePodsNoAnswer, asked, "") // should what follows panic
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.Deadline)
	defer cancel()
	answer := r.look(ctx, asked, cluster)
	answer.At = r.Now()
	into.answer = answer
}

// look asks the member.
func (r *Reader) look(ctx context.Context, asked question, cluster *clusterv1alpha1.Cluster) Answer {
	if !Has(asked.object) {
		return Answer{Reachable: true, Pods: []Pod{}, Fact: fact.Say(fact.LevelInfo, fact.CodePodsNoKind, "kind", asked.object.Kind)}
	}
	if !meta.IsStatusConditionTrue(cluster.Status.Conditions, clusterv1alpha1.ClusterConditionReady) {
		return unreachable(fact.LevelWarn, fact.CodePodsNotReady, asked, "")
	}
	leave, err := r.enter(ctx, cluster.Name)
	if err != nil {
		return unreachable(fact.LevelWarn, fact.CodePodsNoAnswer, asked, "")
	}
	defer leave()
	config, err := r.Members.Config(ctx, cluster)
	if err != nil {
		slog.Debug("pods cannot be read: no way to the member", "cluster", cluster.Name, "error", err)
		return unreachable(fact.LevelInfo, fact.CodePodsNoWay, asked, "")
	}
	member, err := kubernetes.NewForConfig(config)
	if err != nil {
		slog.Debug("pods cannot be read: no client of the member", "cluster", cluster.Name, "error", err)
		return unreachable(fact.LevelInfo, fact.CodePodsNoWay, asked, "")
	}
	answer, err := read(ctx, member, asked)
	if err != nil {
		slog.Debug("pods cannot be read", "cluster", cluster.Name, "namespace", asked.object.Namespace, "name", asked.object.Name, "error", err)
		return refused(asked, err)
	}
	return answer
}

// enter waits for a place among those who ask a member.
func (r *Reader) enter(ctx context.Context, cluster string) (leave func(), err error) {
	r.mu.Lock()
	q := r.members[cluster]
	if q == nil {
		q = &queue{slots: make(chan struct{}, atOnce)}
		r.members[cluster] = q
	}
	q.users++
	r.mu.Unlock()
	gone := func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if q.users--; q.users == 0 {
			delete(r.members, cluster)
		}
	}
	select {
	case q.slots <- struct{}{}:
		return func() { <-q.slots; gone() }, nil
	case <-ctx.Done():
		gone()
		return nil, ctx.Err()
	}
}

// read finds the object in the member and then its pods.
func read(ctx context.Context, member kubernetes.Interface, asked question) (Answer, error) {
	ref := asked.object
	object, err := getters[groupKind(ref)](ctx, member, ref.Namespace, ref.Name)
	if apierrors.IsNotFound(err) {
		return Answer{Reachable: true, Pods: []Pod{}, Fact: fact.Say(fact.LevelWarn, fact.CodePodsNoObject, "cluster", asked.cluster)}, nil
	}
	if err != nil {
		return Answer{}, fmt.Errorf("get %s %s: %w", ref.Kind, ref.Name, err)
	}
	if object.GetLabels()[apis.ManagedLabel] != "true" {
		return Answer{Reachable: true, Pods: []Pod{}, Fact: fact.Say(fact.LevelWarn, fact.CodePodsForeign, "cluster", asked.cluster)}, nil
	}
	var counted tally
	if pod, itself := object.(*corev1.Pod); itself {
		counted.add([]corev1.Pod{*pod}, func(*corev1.Pod) bool { return true })
		return counted.answer(asked.cluster), nil
	}
	partial, err := counted.list(ctx, member, object)
	if err != nil {
		return Answer{}, fmt.Errorf("list pods of %s %s: %w", ref.Kind, ref.Name, err)
	}
	answer := counted.answer(asked.cluster)
	answer.Partial = partial
	if message := refusal(object); message != "" && (counted.total == 0 || counted.notReady == 0) {
		answer.Fact = fact.Say(fact.LevelError, fact.CodePodsRefused, "cluster", asked.cluster, "message", bounded(message))
	}
	return answer, nil
}

// list counts the pods of an object, and says whether there are more than it has
// counted.
func (t *tally) list(ctx context.Context, member kubernetes.Interface, object client.Object) (partial bool, err error) {
	selector, err := selectorOf(object)
	if err != nil || selector == nil {
		return false, err
	}
	options := metav1.ListOptions{LabelSelector: selector.String(), Limit: page}
	for range pages {
		list, err := member.CoreV1().Pods(object.GetNamespace()).List(ctx, options)
		if err != nil && options.Continue != "" {
			return true, nil // what is known is worth more than nothing
		}
		if err != nil {
			return false, err
		}
		t.add(list.Items, ownerOf(object))
		if options.Continue = list.Continue; options.Continue == "" {
			return false, nil
		}
	}
	return true, nil
}

// refused says why a member gave no answer: it said no, or nothing.
func refused(asked question, err error) Answer {
	var said apierrors.APIStatus
	if errors.As(err, &said) && said.Status().Message != "" {
		return unreachable(fact.LevelWarn, fact.CodePodsDenied, asked, bounded(said.Status().Message))
	}
	return unreachable(fact.LevelWarn, fact.CodePodsNoAnswer, asked, "")
}

// unreachable is the answer where a member cannot be asked, with where to look.
func unreachable(level fact.Level, code fact.Code, asked question, message string) Answer {
	pairs := []string{"cluster", asked.cluster, "command", "kubectl -n " + asked.object.Namespace + " get pods"}
	if message != "" {
		pairs = append(pairs, "message", message)
	}
	return Answer{Pods: []Pod{}, Fact: fact.Say(level, code, pairs...)}
}
