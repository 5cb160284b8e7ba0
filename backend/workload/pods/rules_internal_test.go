package pods

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/backend/template"
	"muster.dev/muster/backend/workload/fact"
)

// podOf reads the spec and status of a pod.
func podOf(t *testing.T, text string) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	if err := yaml.UnmarshalStrict([]byte(text), pod); err != nil {
		t.Fatal(err)
	}
	return pod
}

const unreadyConditions = `conditions: [{type: PodScheduled, status: "True"}, {type: Ready, status: "False", reason: ContainersNotReady, message: "containers with unready status: [app]"}]`

func TestWorst(t *testing.T) {
	for name, test := range map[string]struct {
		pod  string
		want trouble
	}{
		"ready":            {`status: {phase: Running, conditions: [{type: Ready, status: "True"}], containerStatuses: [{name: app, ready: true, state: {running: {}}}]}`, trouble{rank: rankWell}},
		"done":             {`status: {phase: Succeeded, containerStatuses: [{name: app, state: {terminated: {exitCode: 0, reason: Completed}}}]}`, trouble{rank: rankWell}},
		"nothing yet":      {`status: {phase: Pending}`, trouble{rankStarting, "", "Pending", ""}},
		"without a status": {`{}`, trouble{rankStarting, "", "Unknown", ""}},
		"image": {`status: {phase: Pending, ` + unreadyConditions + `, containerStatuses: [{name: app, state: {waiting: {reason: ImagePullBackOff, message: "Back-off pulling image \"nginx:nope\""}}}]}`,
			trouble{rankFailing, "app", "ImagePullBackOff", `Back-off pulling image "nginx:nope"`}},
		"configuration": {`status: {phase: Pending, containerStatuses: [{name: app, state: {waiting: {reason: CreateContainerConfigError, message: 'secret "db" not found'}}}]}`,
			trouble{rankFailing, "app", "CreateContainerConfigError", `secret "db" not found`}},
		"crash loop, without its last words": {`status: {phase: Running, ` + unreadyConditions + `, containerStatuses: [{name: app, restartCount: 4, state: {waiting: {reason: CrashLoopBackOff, message: back-off 40s}},
			lastState: {terminated: {exitCode: 3, reason: Error, message: "password=hunter2"}}}]}`, trouble{rankFailing, "app", "CrashLoopBackOff", "exit code 3; back-off 40s"}},
		"crash loop for want of memory": {`status: {phase: Running, containerStatuses: [{name: app, state: {waiting: {reason: CrashLoopBackOff, message: back-off 40s}}, lastState: {terminated: {exitCode: 137, reason: OOMKilled}}}]}`,
			trouble{rankFailing, "app", "OOMKilled", "exit code 137; back-off 40s"}},
		"crash loop of what cannot be run": {`status: {phase: Running, containerStatuses: [{name: app, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 128, reason: StartError, message: 'exec: "nope": not found'}}}]}`,
			trouble{rankFailing, "app", "CrashLoopBackOff", `exec: "nope": not found`}},
		"killed a moment ago":        {`status: {phase: Running, containerStatuses: [{name: app, state: {terminated: {exitCode: 137, reason: OOMKilled, message: "password=hunter2"}}}]}`, trouble{rankFailing, "app", "OOMKilled", "exit code 137"}},
		"by a signal":                {`status: {phase: Failed, containerStatuses: [{name: app, state: {terminated: {exitCode: 139, signal: 11}}}]}`, trouble{rankFailing, "app", "Error", "signal 11"}},
		"killed before, runs again":  {`status: {phase: Running, ` + unreadyConditions + `, containerStatuses: [{name: app, state: {running: {}}, lastState: {terminated: {exitCode: 137, reason: OOMKilled}}}]}`, trouble{rankFailing, "app", "OOMKilled", "exit code 137"}},
		"probe":                      {`status: {phase: Running, ` + unreadyConditions + `, containerStatuses: [{name: app, state: {running: {}}}]}`, trouble{rankUnready, "", "ContainersNotReady", "containers with unready status: [app]"}},
		"ended well, but should run": {`status: {phase: Running, containerStatuses: [{name: app, state: {terminated: {exitCode: 0}}}]}`, trouble{rankUnready, "app", "Completed", ""}},
		"unschedulable": {`status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: "0/1 nodes are available: 1 Insufficient cpu."}]}`,
			trouble{rankUnschedulable, "", "Unschedulable", "0/1 nodes are available: 1 Insufficient cpu."}},
		"evicted":  {`status: {phase: Failed, reason: Evicted, message: "The node was low on resource: memory."}`, trouble{rankGone, "", "Evicted", "The node was low on resource: memory."}},
		"failed":   {`status: {phase: Failed}`, trouble{rankGone, "", "Failed", ""}},
		"creating": {`status: {phase: Pending, ` + unreadyConditions + `, containerStatuses: [{name: app, state: {waiting: {reason: ContainerCreating}}}]}`, trouble{rankStarting, "app", "ContainerCreating", ""}},
		"leaving":  {`{metadata: {deletionTimestamp: "2026-01-01T00:00:00Z"}, status: {phase: Running, conditions: [{type: Ready, status: "True"}]}}`, trouble{rankLeaving, "", "Terminating", ""}},
		"init container fails": {`status: {phase: Pending, initContainerStatuses: [{name: ok, state: {terminated: {exitCode: 0}}}, {name: setup, state: {waiting: {reason: ErrImagePull, message: not found}}}],
			containerStatuses: [{name: app, state: {waiting: {reason: PodInitializing}}}]}`, trouble{rankFailing, "setup", "ErrImagePull", "not found"}},
		"init container runs": {`status: {phase: Pending, initContainerStatuses: [{name: setup, state: {running: {}}}], containerStatuses: [{name: app, state: {waiting: {reason: PodInitializing}}}]}`,
			trouble{rankStarting, "setup", "PodInitializing", ""}},
		"sidecar ended": {`{spec: {initContainers: [{name: mesh, restartPolicy: Always}], containers: []}, status: {phase: Pending, initContainerStatuses: [{name: mesh, state: {terminated: {exitCode: 0}}}]}}`,
			trouble{rankUnready, "mesh", "Completed", ""}},
		"the worst of several": {`status: {phase: Running, ` + unreadyConditions + `, containerStatuses: [{name: a, state: {running: {}}}, {name: b, state: {waiting: {reason: ContainerCreating}}}, {name: c, state: {waiting: {reason: InvalidImageName}}}]}`,
			trouble{rankFailing, "c", "InvalidImageName", ""}},
		"a message of many lines": {`{status: {phase: Failed, reason: Evicted, message: "one\n  two"}}`, trouble{rankGone, "", "Evicted", "one two"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, worst(podOf(t, test.pod)), cmp.AllowUnexported(trouble{})); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestCountsOfAPod(t *testing.T) {
	got := judge(podOf(t, `{spec: {nodeName: n1, initContainers: [{name: setup}, {name: mesh, restartPolicy: Always}], containers: [{name: a}, {name: b}]}, status: {phase: Running,
		initContainerStatuses: [{name: setup, ready: true, restartCount: 1, state: {terminated: {exitCode: 0}}}, {name: mesh, ready: true, restartCount: 2, state: {running: {}}}],
		containerStatuses: [{name: a, ready: true, state: {running: {}}}, {name: b, restartCount: 4, state: {waiting: {reason: ErrImagePull}}}]}}`)).Pod
	want := Pod{Name: "p", Node: "n1", Phase: "Running", Ready: 2, Containers: 3, Restarts: 7, Container: "b", Reason: "ErrImagePull"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestBoundedMessages(t *testing.T) {
	if got := bounded(strings.Repeat("é", messageLimit)); got != strings.Repeat("é", messageLimit/2)+"…" {
		t.Errorf("a long message ends in %q", got[len(got)-8:])
	}
	if got := bounded("x" + strings.Repeat("é", messageLimit)); !strings.HasSuffix(got, "é…") || len(got) > messageLimit+len("…") {
		t.Errorf("a long message is %d bytes and ends in %q", len(got), got[len(got)-8:])
	}
}

func TestTheFirstAreThoseThatAreNotReady(t *testing.T) {
	const well = `status: {phase: Running, conditions: [{type: Ready, status: "True"}]}`
	const creating = `status: {phase: Pending, containerStatuses: [{name: app, state: {waiting: {reason: ContainerCreating}}}]}`
	const failing = `status: {phase: Pending, containerStatuses: [{name: app, state: {waiting: {reason: ErrImagePull, message: denied}}}]}`
	var counted tally
	all := func(*corev1.Pod) bool { return true }
	var page []corev1.Pod
	for n := range 60 {
		text := well
		switch n {
		case 40:
			text = creating
		case 41, 59:
			text = failing
		}
		pod := podOf(t, text)
		pod.Name = fmt.Sprintf("p%02d", n)
		if page = append(page, *pod); len(page) == 30 {
			counted.add(page, all)
			page = nil
		}
	}
	answer := counted.answer("member1")
	if answer.Total != 60 || answer.NotReady != 3 || len(answer.Pods) != shown || answer.Partial {
		t.Errorf("%d pods of %d, %d of them not ready", len(answer.Pods), answer.Total, answer.NotReady)
	}
	var first []string
	for _, pod := range answer.Pods[:4] {
		first = append(first, pod.Name)
	}
	if diff := cmp.Diff([]string{"p41", "p59", "p40", "p00"}, first); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	if want := "member1: pod p41 is not ready, ErrImagePull: denied"; answer.Fact.Text != want || answer.Fact.Level != fact.LevelError {
		t.Errorf("%s %s", answer.Fact.Level, answer.Fact.Text)
	}
}

func TestOfTwoThatFailTheNewerIsNamed(t *testing.T) {
	const failing = `status: {phase: Pending, containerStatuses: [{name: app, state: {waiting: {reason: ErrImagePull}}}]}`
	older, newer := podOf(t, failing), podOf(t, failing)
	older.Name, older.CreationTimestamp = "a", metav1.Unix(1700000000, 0)
	newer.Name, newer.CreationTimestamp = "b", metav1.Unix(1700000060, 0)
	var counted tally
	counted.add([]corev1.Pod{*older, *newer}, func(*corev1.Pod) bool { return true })
	if got := counted.answer("member1").Fact.Params["pod"]; got != "b" {
		t.Errorf("%s is named", got)
	}
}

func TestSelectors(t *testing.T) {
	labelled := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}
	mixed := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: metav1.LabelSelectorOpIn, Values: []string{"a", "b"}}}}
	for _, test := range []struct {
		object client.Object
		want   string // empty: none
	}{
		{&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Selector: labelled}}, "app=x"},
		{&appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Selector: labelled}}, "app=x"},
		{&appsv1.DaemonSet{Spec: appsv1.DaemonSetSpec{Selector: mixed}}, "tier in (a,b)"},
		{&appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Selector: labelled}}, "app=x"},
		{&batchv1.Job{Spec: batchv1.JobSpec{Selector: labelled}}, "app=x"},
		{&appsv1.Deployment{}, ""},
		{&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{}}}, ""}, // it would mean all
		{&corev1.ConfigMap{}, ""},
	} {
		selector, err := selectorOf(test.object)
		if err != nil {
			t.Fatal(err)
		}
		if got := ""; selector != nil && selector.String() != test.want || selector == nil && test.want != got {
			t.Errorf("%T: %v, want %q", test.object, selector, test.want)
		}
	}
	wrong := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}}}
	if _, err := selectorOf(wrong); err == nil {
		t.Error("a selector that cannot be read is none")
	}
}

func TestOwners(t *testing.T) {
	owned := func(kind string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Kind: kind, UID: "other"}, {Kind: kind, UID: "other", Controller: ptr.To(false)}, {Kind: kind, UID: "u1", Controller: ptr.To(true)}}}}
	}
	own := metav1.ObjectMeta{UID: "u1"}
	foreign := metav1.ObjectMeta{UID: "u2"}
	for _, test := range []struct {
		object client.Object
		pod    *corev1.Pod
		want   bool
	}{
		{&appsv1.Deployment{ObjectMeta: foreign}, owned("ReplicaSet"), true},
		{&appsv1.Deployment{ObjectMeta: own}, owned("StatefulSet"), false},
		{&appsv1.StatefulSet{ObjectMeta: own}, owned("StatefulSet"), true},
		{&batchv1.Job{ObjectMeta: foreign}, owned("Job"), false},
		{&batchv1.Job{ObjectMeta: own}, &corev1.Pod{}, false},
	} {
		if got := ownerOf(test.object)(test.pod); got != test.want {
			t.Errorf("a pod of %v belongs to %T: %v", test.pod.OwnerReferences, test.object, got)
		}
	}
}

func TestKindsWithPods(t *testing.T) {
	for _, test := range []struct {
		version, kind string
		want          bool
	}{
		{"apps/v1", "Deployment", true}, {"apps/v1", "StatefulSet", true}, {"apps/v1", "DaemonSet", true}, {"apps/v1", "ReplicaSet", true}, {"batch/v1", "Job", true}, {"v1", "Pod", true},
		{"batch/v1", "CronJob", false}, {"v1", "ConfigMap", false}, {"example.com/v1", "Deployment", false},
	} {
		if got := Has(template.Ref{APIVersion: test.version, Kind: test.kind}); got != test.want {
			t.Errorf("%s %s has pods: %v", test.version, test.kind, got)
		}
	}
}
