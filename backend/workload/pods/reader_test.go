package pods_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/template"
	"muster.dev/muster/backend/workload/fact"
	"muster.dev/muster/backend/workload/pods"
)

// patience is a deadline that no test runs into.
const patience = time.Minute

var nginx = template.Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "nginx"}

// member is the API of a member, and how the hub reaches it.
type member struct {
	t      *testing.T
	server *httptest.Server
	// deployment is what a member has; nil: nothing.
	deployment *appsv1.Deployment
	pods       []corev1.Pod
	// endless: there is always one more page.
	endless bool
	// entered is told of each request for the deployment, which then waits for
	// proceed; nil: it does not wait.
	entered, proceed chan struct{}
	err              error // of Config

	mu    sync.Mutex
	asked map[string]int // by path
}

func newMember(t *testing.T) *member {
	m := &member{t: t, asked: map[string]int{}, deployment: &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "nginx", Labels: map[string]string{apis.ManagedLabel: "true"}},
		Spec:       appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "nginx"}}},
	}}
	m.server = httptest.NewServer(m)
	t.Cleanup(m.server.Close)
	return m
}

// Config implements pods.Members.
func (m *member) Config(context.Context, *clusterv1alpha1.Cluster) (*rest.Config, error) {
	return &rest.Config{Host: m.server.URL, QPS: -1}, m.err
}

func (m *member) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	m.asked[r.URL.Path]++
	m.mu.Unlock()
	switch r.URL.Path {
	case "/api/v1/namespaces/shop/pods":
		m.list(w, r)
	default:
		if m.entered != nil {
			m.entered <- struct{}{}
			select {
			case <-m.proceed:
			case <-r.Context().Done():
			}
		}
		if m.deployment == nil {
			m.write(w, http.StatusNotFound, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Code: 404, Reason: metav1.StatusReasonNotFound})
			return
		}
		m.write(w, http.StatusOK, m.deployment)
	}
}

func (m *member) list(w http.ResponseWriter, r *http.Request) {
	if m.pods == nil {
		m.write(w, http.StatusForbidden, metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Code: 403, Reason: metav1.StatusReasonForbidden, Message: "pods is forbidden",
		})
		return
	}
	if got := r.URL.Query().Get("labelSelector"); got != "app=nginx" {
		m.t.Errorf("pods are listed by %q", got)
	}
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	if limit == 0 {
		m.t.Error("pods are listed without a limit")
	}
	list := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
	if m.endless {
		list.Items, list.Continue = m.pods, "1"
	} else if to := min(len(m.pods), from+limit); true {
		list.Items = m.pods[from:to]
		if to < len(m.pods) {
			list.Continue = strconv.Itoa(to)
		}
	}
	m.write(w, http.StatusOK, list)
}

func (m *member) write(w http.ResponseWriter, code int, object any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(object); err != nil {
		m.t.Log(err) // who asked has gone
	}
}

func (m *member) count(path string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.asked[path]
}

// pod is one of the deployment; well, or without its image.
func pod(name string, well bool) corev1.Pod {
	made := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "nginx-1", Controller: ptr.To(true)}}}}
	made.Spec.Containers = []corev1.Container{{Name: "app", Env: []corev1.EnvVar{{Name: "PASSWORD", Value: "hunter2"}}}}
	made.Status = corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}}
	if !well {
		made.Status = corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{
			Name: "app", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "Back-off pulling image"}},
		}}}
	}
	return made
}

func cluster(name string, ready metav1.ConditionStatus) *clusterv1alpha1.Cluster {
	made := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	made.Status.Conditions = []metav1.Condition{{Type: clusterv1alpha1.ClusterConditionReady, Status: ready}}
	return made
}

func look(t *testing.T, r *pods.Reader, ref template.Ref) pods.Answer {
	t.Helper()
	answer, err := r.Read(t.Context(), cluster("member1", metav1.ConditionTrue), ref)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestPodsOfADeployment(t *testing.T) {
	m := newMember(t)
	m.pods = []corev1.Pod{pod("a", true), pod("b", false), {ObjectMeta: metav1.ObjectMeta{Name: "somebody-elses"}}}
	answer := look(t, pods.NewReader(pods.Options{Members: m, Deadline: patience}), nginx)
	if answer.At.IsZero() || answer.Shared {
		t.Errorf("answer: %+v", answer)
	}
	answer.At = time.Time{}
	want := pods.Answer{
		Reachable: true, Total: 2, NotReady: 1,
		Fact: fact.Say(fact.LevelError, fact.CodePodsWorst, "cluster", "member1", "pod", "b", "reason", "ImagePullBackOff", "message", "Back-off pulling image"),
		Pods: []pods.Pod{
			{Name: "b", Phase: "Pending", Containers: 1, Container: "app", Reason: "ImagePullBackOff", Message: "Back-off pulling image"},
			{Name: "a", Phase: "Running", OK: true, Containers: 1},
		},
	}
	if diff := cmp.Diff(want, answer); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestManyPods(t *testing.T) {
	m := newMember(t)
	for n := range 501 {
		m.pods = append(m.pods, pod(fmt.Sprintf("p%03d", n), n < 500))
	}
	r := pods.NewReader(pods.Options{Members: m, Deadline: patience})
	if answer := look(t, r, nginx); answer.Total != 501 || answer.NotReady != 1 || len(answer.Pods) != 50 || answer.Pods[0].Name != "p500" || answer.Partial {
		t.Errorf("%d pods of %d, %d not ready, partial: %v", len(answer.Pods), answer.Total, answer.NotReady, answer.Partial)
	}
	m.endless, m.pods = true, m.pods[:2]
	r = pods.NewReader(pods.Options{Members: m, Deadline: patience})
	if answer := look(t, r, nginx); answer.Total != 20 || !answer.Partial {
		t.Errorf("without an end: %d pods, partial: %v", answer.Total, answer.Partial)
	}
}

func TestAnswersWithoutPods(t *testing.T) {
	for name, test := range map[string]struct {
		prepare   func(*member)
		ref       template.Ref
		ready     metav1.ConditionStatus
		reachable bool
		want      string
	}{
		"none yet":   {func(m *member) { m.pods = []corev1.Pod{} }, nginx, metav1.ConditionTrue, true, "member1: the object has no pods yet."},
		"all ready":  {func(m *member) { m.pods = []corev1.Pod{pod("a", true)} }, nginx, metav1.ConditionTrue, true, "member1: all pods (1) are ready."},
		"no object":  {func(m *member) { m.deployment = nil }, nginx, metav1.ConditionTrue, true, "member1: the object is not there, and so are no pods."},
		"not ours":   {func(m *member) { m.deployment.Labels = nil }, nginx, metav1.ConditionTrue, true, "member1: the object there is not managed by the hub, which leaves its pods alone."},
		"other kind": {func(*member) {}, template.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "nginx"}, metav1.ConditionTrue, true, "A ConfigMap has no pods of its own."},
		"quota": {func(m *member) {
			m.pods = []corev1.Pod{}
			m.deployment.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "exceeded quota: small"}}
		}, nginx, metav1.ConditionTrue, true, "member1: no pods can be made for it: exceeded quota: small"},
		"forbidden":    {func(*member) {}, nginx, metav1.ConditionTrue, false, "member1 did not show its pods to the hub (pods is forbidden). Look in the member (kubectl -n shop get pods)."},
		"no address":   {func(m *member) { m.err = errors.New("it has no apiEndpoint") }, nginx, metav1.ConditionTrue, false, "The hub cannot ask member1 for pods: it has no address of it or no credential for it. Look in the member (kubectl -n shop get pods)."},
		"nobody there": {func(m *member) { m.server.Close() }, nginx, metav1.ConditionTrue, false, "member1 did not answer the hub in time about its pods. Look in the member (kubectl -n shop get pods)."},
		"not ready":    {func(m *member) { m.server.Close() }, nginx, metav1.ConditionUnknown, false, "The hub does not ask member1 for pods while it is not ready. Look in the member (kubectl -n shop get pods)."},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMember(t)
			test.prepare(m)
			answer, err := pods.NewReader(pods.Options{Members: m, Deadline: patience}).Read(t.Context(), cluster("member1", test.ready), test.ref)
			if err != nil {
				t.Fatal(err)
			}
			if answer.Reachable != test.reachable || answer.Fact.Text != test.want || answer.Pods == nil {
				t.Errorf("reachable: %v, %s", answer.Reachable, answer.Fact.Text)
			}
		})
	}
}

func TestAMemberThatNeverAnswers(t *testing.T) {
	m := newMember(t)
	m.entered, m.proceed = make(chan struct{}, 10), make(chan struct{})
	answer := look(t, pods.NewReader(pods.Options{Members: m, Deadline: time.Millisecond}), nginx)
	if answer.Reachable || answer.Fact.Code != fact.CodePodsNoAnswer {
		t.Errorf("answer: %+v", answer)
	}
}

func TestAnswersAreShared(t *testing.T) {
	m := newMember(t)
	m.pods = []corev1.Pod{pod("a", true)}
	m.entered, m.proceed = make(chan struct{}), make(chan struct{})
	var mu sync.Mutex
	now := time.Unix(1700000000, 0)
	r := pods.NewReader(pods.Options{Members: m, Deadline: patience, Now: func() time.Time { mu.Lock(); defer mu.Unlock(); return now }})
	path := "/apis/apps/v1/namespaces/shop/deployments/nginx"

	leaving, leave := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { // that the first one leaves does not matter
		if _, err := r.Read(leaving, cluster("member1", metav1.ConditionTrue), nginx); err != nil {
			t.Error(err)
		}
	})
	<-m.entered
	leave()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Read(gone, cluster("member1", metav1.ConditionTrue), nginx); !errors.Is(err, context.Canceled) {
		t.Errorf("who leaves waits on: %v", err)
	}
	for range 20 {
		all.Go(func() {
			if answer, err := r.Read(t.Context(), cluster("member1", metav1.ConditionTrue), nginx); err != nil || answer.Total != 1 || !answer.Shared {
				t.Errorf("answer: %+v, %v", answer, err)
			}
		})
	}
	close(m.proceed)
	all.Wait()
	if n := m.count(path); n != 1 {
		t.Errorf("the member was asked %d times", n)
	}
	mu.Lock()
	now = now.Add(5 * time.Second)
	mu.Unlock()
	all.Go(func() { <-m.entered })
	if answer := look(t, r, nginx); answer.Shared || m.count(path) != 2 {
		t.Errorf("asked again after a while: %+v, %d questions", answer, m.count(path))
	}
	all.Wait()
}

func TestFewAtOnce(t *testing.T) {
	m := newMember(t)
	m.pods = []corev1.Pod{pod("a", true)}
	m.entered, m.proceed = make(chan struct{}), make(chan struct{})
	r := pods.NewReader(pods.Options{Members: m, Deadline: patience})
	var all sync.WaitGroup
	for n := range 10 {
		all.Go(func() {
			ref := nginx
			ref.Name = fmt.Sprintf("nginx-%d", n)
			if answer, err := r.Read(t.Context(), cluster("member1", metav1.ConditionTrue), ref); err != nil || answer.Total != 1 {
				t.Errorf("answer: %+v, %v", answer, err)
			}
		})
	}
	inside := 0
	for range 3 {
		<-m.entered
		inside++
	}
	for range 7 { // each that comes in must have been let in by one that went out
		select {
		case <-m.entered:
			t.Fatal("a fourth question at once")
		default:
		}
		m.proceed <- struct{}{}
		<-m.entered
	}
	for range inside {
		m.proceed <- struct{}{}
	}
	all.Wait()
}
