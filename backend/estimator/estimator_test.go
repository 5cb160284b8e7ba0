package estimator_test

import (
	"context"
	"encoding/pem"
	"errors"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/estimator"
	"muster.dev/muster/backend/estimator/estimatortest"
)

func clusters(names ...string) []*clusterv1alpha1.Cluster {
	var list []*clusterv1alpha1.Cluster
	for _, name := range names {
		list = append(list, &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: clusterv1alpha1.ClusterSpec{SyncMode: clusterv1alpha1.Push}})
	}
	return list
}

// told are the Events so far.
func (f *fixture) told() []string {
	var list []string
	for {
		select {
		case event := <-f.recorder.Events:
			words := strings.Fields(event)
			list = append(list, strings.Join(words[:2], " "))
		default:
			return list
		}
	}
}

func TestEstimate(t *testing.T) {
	f := newFixture(t, func(o *estimator.Options) { o.NotPull = true })
	m1, m2 := estimatortest.Start(t), estimatortest.Start(t)
	f.services.lead(t, "m1", m1.Address)
	f.services.lead(t, "m2", m2.Address)
	f.services.lead(t, "pulls", m2.Address)
	asked := make(chan string, 10)
	m1.Does(func(_ context.Context, request protoreflect.Message) (int32, error) {
		asked <- estimatortest.Field(request, "cluster").String()
		return 7, nil
	})
	all := clusters("m1", "m2", "pulls")
	all[2].Spec.SyncMode = clusterv1alpha1.Pull
	for range 3 {
		if diff := cmp.Diff(map[string]int32{"m1": 7, "m2": 0}, f.Estimate(t.Context(), all, nil, nil)); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
		if name := <-asked; name != "m1" {
			t.Errorf("asked about %q", name)
		}
	}
	if m1.Connections.Load() != 1 || m2.Connections.Load() != 1 || m2.Asked.Load() != 3 {
		t.Errorf("%d and %d connections, %d questions", m1.Connections.Load(), m2.Connections.Load(), m2.Asked.Load())
	}
	f.Forget("m1")
	f.Estimate(t.Context(), all[:1], nil, nil)
	if m1.Connections.Load() != 2 {
		t.Errorf("%d connections after the cluster was removed and came again", m1.Connections.Load())
	}
	if told := f.told(); told != nil {
		t.Errorf("events %v", told)
	}
}

// TestQuestion reads a question by what protobuf makes of it.
func TestQuestion(t *testing.T) {
	f := newFixture(t, nil)
	s := estimatortest.Start(t)
	f.services.lead(t, "m1", s.Address)
	need := &workv1alpha2.ReplicaRequirements{
		Namespace: "shop", PriorityClassName: "high",
		ResourceRequest: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m"), corev1.ResourceMemory: resource.MustParse("1Gi")},
		NodeClaim: &workv1alpha2.NodeClaim{
			NodeSelector: map[string]string{"disk": "ssd", "zone": ""},
			HardNodeAffinity: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: "gpu", Operator: corev1.NodeSelectorOpIn, Values: []string{"a", "b"}},
			}}}},
			Tolerations: []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}, {Key: "spot", Value: "yes"}},
		},
	}
	var got workv1alpha2.ReplicaRequirements
	s.Does(func(_ context.Context, request protoreflect.Message) (int32, error) {
		requirements := estimatortest.Field(request, "requirements").Message()
		claim := estimatortest.Field(requirements, "claim").Message()
		got = workv1alpha2.ReplicaRequirements{
			Namespace: estimatortest.Field(requirements, "namespace").String(), PriorityClassName: estimatortest.Field(requirements, "priorityClass").String(), ResourceRequest: corev1.ResourceList{},
			NodeClaim: &workv1alpha2.NodeClaim{NodeSelector: map[string]string{}, HardNodeAffinity: &corev1.NodeSelector{}},
		}
		var failures []error
		for requests, i := estimatortest.Field(requirements, "requests").List(), 0; i < requests.Len(); i++ {
			var quantity resource.Quantity
			failures = append(failures, quantity.Unmarshal(estimatortest.Field(requests.Get(i).Message(), "value").Bytes()))
			got.ResourceRequest[corev1.ResourceName(estimatortest.Field(requests.Get(i).Message(), "key").String())] = quantity
		}
		for labels, i := estimatortest.Field(claim, "selector").List(), 0; i < labels.Len(); i++ {
			got.NodeClaim.NodeSelector[estimatortest.Field(labels.Get(i).Message(), "key").String()] = estimatortest.Field(labels.Get(i).Message(), "value").String()
		}
		failures = append(failures, got.NodeClaim.HardNodeAffinity.Unmarshal(estimatortest.Field(claim, "affinity").Bytes()))
		for list, i := estimatortest.Field(claim, "tolerations").List(), 0; i < list.Len(); i++ {
			var toleration corev1.Toleration
			failures = append(failures, toleration.Unmarshal(list.Get(i).Bytes()))
			got.NodeClaim.Tolerations = append(got.NodeClaim.Tolerations, toleration)
		}
		return 3, errors.Join(failures...)
	})
	if known := f.Estimate(t.Context(), clusters("m1"), need, nil); known["m1"] != 3 {
		t.Fatalf("estimates %v, events %v", known, f.told())
	}
	if diff := cmp.Diff(need, &got); diff != "" {
		t.Errorf("(-asked +read):\n%s", diff)
	}
}

// TestQuestionAboutSets reads a question about whole sets of parts.
func TestQuestionAboutSets(t *testing.T) {
	f := newFixture(t, nil)
	s := estimatortest.Start(t)
	f.services.lead(t, "m1", s.Address)
	parts := []workv1alpha2.Component{
		{Name: "manager", Replicas: 1},
		{Name: "worker", Replicas: 3, ReplicaRequirements: &workv1alpha2.ReplicaRequirements{
			PriorityClassName: "high", ResourceRequest: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m")},
			NodeClaim: &workv1alpha2.NodeClaim{NodeSelector: map[string]string{"disk": "ssd"}},
		}},
	}
	var namespace string
	var got []workv1alpha2.Component
	s.Does(func(_ context.Context, request protoreflect.Message) (int32, error) {
		namespace = estimatortest.Field(request, "namespace").String()
		var err error
		got, err = components(request)
		return 2, err
	})
	if known := f.EstimateSets(t.Context(), clusters("m1"), estimator.Workload{Namespace: "shop", Parts: parts}, nil); known["m1"] != 2 || namespace != "shop" {
		t.Fatalf("estimates %v in namespace %q, events %v", known, namespace, f.told())
	}
	if diff := cmp.Diff(parts, got); diff != "" {
		t.Errorf("(-asked +read):\n%s", diff)
	}
}

// components are the parts that a message tells of.
func components(of protoreflect.Message) (parts []workv1alpha2.Component, err error) {
	for list, i := estimatortest.Field(of, "components").List(), 0; i < list.Len(); i++ {
		m := list.Get(i).Message()
		c := workv1alpha2.Component{Name: estimatortest.Field(m, "name").String(), Replicas: int32(estimatortest.Field(m, "replicas").Int())}
		if needs := estimatortest.Field(m, "requirements").Message(); needs.IsValid() {
			c.ReplicaRequirements = &workv1alpha2.ReplicaRequirements{
				PriorityClassName: estimatortest.Field(needs, "priorityClass").String(), ResourceRequest: corev1.ResourceList{},
				NodeClaim: &workv1alpha2.NodeClaim{NodeSelector: map[string]string{}},
			}
			for requests, i := estimatortest.Field(needs, "requests").List(), 0; i < requests.Len(); i++ {
				var quantity resource.Quantity
				if err := quantity.Unmarshal(estimatortest.Field(requests.Get(i).Message(), "value").Bytes()); err != nil {
					return nil, err
				}
				c.ReplicaRequirements.ResourceRequest[corev1.ResourceName(estimatortest.Field(requests.Get(i).Message(), "key").String())] = quantity
			}
			for labels, i := estimatortest.Field(estimatortest.Field(needs, "claim").Message(), "selector").List(), 0; i < labels.Len(); i++ {
				c.ReplicaRequirements.NodeClaim.NodeSelector[estimatortest.Field(labels.Get(i).Message(), "key").String()] = estimatortest.Field(labels.Get(i).Message(), "value").String()
			}
		}
		parts = append(parts, c)
	}
	return parts, nil
}

// TestAssumed reads what both questions tell of workloads that are assumed.
func TestAssumed(t *testing.T) {
	f := newFixture(t, nil)
	s := estimatortest.Start(t)
	for _, name := range []string{"m1", "m2", "m3"} {
		f.services.lead(t, name, s.Address)
	}
	small := &workv1alpha2.ReplicaRequirements{
		PriorityClassName: "high", ResourceRequest: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m"), corev1.ResourceMemory: resource.MustParse("1Gi")},
		NodeClaim: &workv1alpha2.NodeClaim{NodeSelector: map[string]string{"disk": "ssd"}},
	}
	one := []workv1alpha2.Component{{Name: "web", Replicas: 2, ReplicaRequirements: small}}
	two := []workv1alpha2.Component{{Name: "manager", Replicas: 1}, {Name: "worker", Replicas: 3, ReplicaRequirements: small}}
	// Some thousands of these are more than a server of the field takes in one message.
	large := workv1alpha2.Component{Name: "large", Replicas: 1, ReplicaRequirements: &workv1alpha2.ReplicaRequirements{
		ResourceRequest: corev1.ResourceList{}, NodeClaim: &workv1alpha2.NodeClaim{NodeSelector: map[string]string{"pool": strings.Repeat("x", 1000)}},
	}}
	crowd := slices.Repeat([]estimator.Workload{{Namespace: "old", Parts: []workv1alpha2.Component{large}}}, 5000)
	assumed := map[string][]estimator.Workload{
		"m1": {{Namespace: "shop", Parts: one}, {Namespace: "jobs", Parts: two}},
		"m3": append(crowd, estimator.Workload{Namespace: "new", Parts: one}),
	}
	var mu sync.Mutex
	var got map[string][]estimator.Workload
	size := map[string]int{}
	s.Does(func(_ context.Context, request protoreflect.Message) (int32, error) {
		var told []estimator.Workload
		for list, i := estimatortest.Field(request, "assumed").List(), 0; i < list.Len(); i++ {
			m := list.Get(i).Message()
			parts, err := components(m)
			if err != nil {
				return 0, err
			}
			told = append(told, estimator.Workload{Namespace: estimatortest.Field(m, "namespace").String(), Parts: parts})
		}
		mu.Lock()
		defer mu.Unlock()
		cluster := estimatortest.Field(request, "cluster").String()
		got[cluster], size[cluster] = told, proto.Size(request.Interface())
		return 1, nil
	})
	for name, ask := range map[string]func() map[string]int32{
		"replicas": func() map[string]int32 { return f.Estimate(t.Context(), clusters("m1", "m2", "m3"), small, assumed) },
		"sets": func() map[string]int32 {
			return f.EstimateSets(t.Context(), clusters("m1", "m2", "m3"), estimator.Workload{Namespace: "shop", Parts: two}, assumed)
		},
	} {
		got = map[string][]estimator.Workload{}
		if known := ask(); len(known) != 3 {
			t.Fatalf("%s: %v, events %v", name, known, f.told())
		}
		if diff := cmp.Diff(assumed["m1"], got["m1"]); diff != "" {
			t.Errorf("%s (-assumed +read):\n%s", name, diff)
		}
		if got["m2"] != nil {
			t.Errorf("%s: m2 is told of %v", name, got["m2"])
		}
		told := got["m3"]
		if n := len(told); n < 2000 || n > 4000 || told[0].Namespace != "old" || told[n-1].Namespace != "new" || size["m3"] > 4<<20 {
			t.Errorf("%s: m3 is told of %d workloads in %d bytes", name, n, size["m3"])
		}
	}
}

// TestUnreachable: estimators in trouble take nothing from the others, are told of
// once, and are asked in line again when they are well.
func TestUnreachable(t *testing.T) {
	f := newFixture(t, func(o *estimator.Options) { o.Timeout = 5 * time.Second })
	well, hanging, broken := estimatortest.Start(t), estimatortest.Start(t), estimatortest.Start(t)
	well.Answers(4)
	released := make(chan struct{})
	hanging.Does(func(ctx context.Context, _ protoreflect.Message) (int32, error) {
		select {
		case <-ctx.Done():
		case <-released:
		}
		return 5, ctx.Err()
	})
	broken.Does(func(context.Context, protoreflect.Message) (int32, error) { return 0, errors.New("no nodes known yet") })
	f.services.lead(t, "well", well.Address)
	f.services.lead(t, "hanging", hanging.Address)
	f.services.lead(t, "broken", broken.Address)
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.services.lead(t, "refusing", nobody.Addr().String())
	_ = nobody.Close()
	f.services.lead(t, "pods", "127.0.0.1:1")
	f.services[estimator.DefaultNamespace+"/"+estimator.DefaultPrefix+"-pods"].Spec.Type = corev1.ServiceTypeClusterIP
	all := clusters("well", "hanging", "broken", "refusing", "pods")
	for range 3 { // the clock stands still: nobody in trouble is asked a second time
		if diff := cmp.Diff(map[string]int32{"well": 4}, f.Estimate(t.Context(), all, nil, nil)); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
	if hanging.Asked.Load() != 1 || broken.Asked.Load() != 1 || well.Asked.Load() != 3 {
		t.Errorf("asked %d, %d and %d times", hanging.Asked.Load(), broken.Asked.Load(), well.Asked.Load())
	}
	warning := "Warning EstimatorUnreachable"
	if diff := cmp.Diff([]string{warning, warning, warning, warning}, f.told()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	broken.Answers(6)
	close(released)
	f.services.lead(t, "refusing", well.Address) // it has moved
	err = wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 2*time.Minute, true, func(ctx context.Context) (bool, error) {
		f.clock.SetTime(f.clock.Now().Add(2 * time.Minute))
		return cmp.Equal(map[string]int32{"well": 4, "hanging": 5, "broken": 6, "refusing": 4}, f.Estimate(ctx, all, nil, nil)), nil
	})
	if err != nil {
		t.Fatalf("last known: %v", f.Estimate(t.Context(), all, nil, nil))
	}
	normal := "Normal EstimatorReachable"
	if diff := cmp.Diff([]string{normal, normal, normal}, f.told()); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// Who asked and is gone says nothing about the estimator.
func TestCancelled(t *testing.T) {
	f := newFixture(t, nil)
	s := estimatortest.Start(t)
	f.services.lead(t, "m1", s.Address)
	ctx, cancel := context.WithCancel(t.Context())
	s.Does(func(ctx context.Context, _ protoreflect.Message) (int32, error) {
		cancel()
		<-ctx.Done()
		return 0, ctx.Err()
	})
	if known := f.Estimate(ctx, clusters("m1"), nil, nil); len(known) != 0 {
		t.Errorf("known: %v", known)
	}
	s.Answers(2)
	if known := f.Estimate(t.Context(), clusters("m1"), nil, nil); known["m1"] != 2 || f.told() != nil {
		t.Errorf("known afterwards: %v", known)
	}
}

func TestTLS(t *testing.T) {
	site := httptest.NewTLSServer(nil) // for its certificate
	site.Close()
	s := estimatortest.Start(t, grpc.Creds(credentials.NewServerTLSFromCert(&site.TLS.Certificates[0])))
	s.Answers(9)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: site.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change func(*estimator.Options)
		known  bool
	}{
		"by its CA":     {func(o *estimator.Options) { o.CAFile = ca }, true},
		"not looked at": {func(o *estimator.Options) { o.Insecure = true }, true},
		"without TLS":   {func(*estimator.Options) {}, false},
		"at a foreign name": {func(o *estimator.Options) {
			o.CAFile, o.Address = ca, strings.Replace(s.Address, "127.0.0.1", "localhost", 1)
		}, false},
	} {
		f := newFixture(t, func(o *estimator.Options) { o.Address = s.Address; test.change(o) })
		if known := f.Estimate(t.Context(), clusters("m1"), nil, nil); (known["m1"] == 9) != test.known {
			t.Errorf("%s: %v, events %v", name, known, f.told())
		}
	}
}
