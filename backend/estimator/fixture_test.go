package estimator_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/estimator"
)

// schema describes the messages to protobuf itself, so that what we write by hand is
// read by somebody else.
var schema = sync.OnceValue(func() protoreflect.FileDescriptor {
	type field = descriptorpb.FieldDescriptorProto
	one, many := descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(), descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
	plain := func(name string, number int32, kind descriptorpb.FieldDescriptorProto_Type) *field {
		return &field{Name: &name, Number: &number, Type: kind.Enum(), Label: one}
	}
	message := func(name string, number int32, of string) *field {
		f := plain(name, number, descriptorpb.FieldDescriptorProto_TYPE_MESSAGE)
		of = ".t." + of
		f.TypeName = &of
		return f
	}
	repeated := func(f *field) *field { f.Label = many; return f }
	text, bytes, number := descriptorpb.FieldDescriptorProto_TYPE_STRING, descriptorpb.FieldDescriptorProto_TYPE_BYTES, descriptorpb.FieldDescriptorProto_TYPE_INT32
	kind := func(name string, fields ...*field) *descriptorpb.DescriptorProto {
		return &descriptorpb.DescriptorProto{Name: &name, Field: fields}
	}
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("t.proto"), Package: proto.String("t"), Syntax: proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{
			kind("Request", plain("cluster", 1, text), message("requirements", 2, "Requirements")),
			kind("Requirements", message("claim", 1, "Claim"), plain("namespace", 3, text), plain("priorityClass", 4, text), repeated(message("requests", 5, "Quantity"))),
			kind("Quantity", plain("key", 1, text), plain("value", 2, bytes)),
			kind("Claim", repeated(message("selector", 2, "Label")), plain("affinity", 4, bytes), repeated(plain("tolerations", 5, bytes))),
			kind("Label", plain("key", 1, text), plain("value", 2, text)),
			kind("Answer", plain("replicas", 1, number)),
		},
	}, nil)
	if err != nil {
		panic(err)
	}
	return file
})

func newMessage(name protoreflect.Name) *dynamicpb.Message {
	return dynamicpb.NewMessage(schema().Messages().ByName(name))
}

func get(m protoreflect.Message, name protoreflect.Name) protoreflect.Value {
	return m.Get(m.Descriptor().Fields().ByName(name))
}

// server is an estimator that speaks by the generated code's rules.
type server struct {
	address     string
	connections atomic.Int32
	asked       atomic.Int32
	answer      atomic.Pointer[func(ctx context.Context, request protoreflect.Message) (int32, error)]
}

type countingListener struct {
	net.Listener
	accepted *atomic.Int32
}

func (l countingListener) Accept() (net.Conn, error) {
	connection, err := l.Listener.Accept()
	if err == nil {
		l.accepted.Add(1)
	}
	return connection, err
}

func (s *server) answers(replicas int32) {
	s.does(func(context.Context, protoreflect.Message) (int32, error) { return replicas, nil })
}

func (s *server) does(answer func(ctx context.Context, request protoreflect.Message) (int32, error)) {
	s.answer.Store(&answer)
}

// startServer answers at a port of its own until the test ends.
func startServer(t *testing.T, options ...grpc.ServerOption) *server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{address: listener.Addr().String()}
	s.answers(0)
	serving := grpc.NewServer(options...)
	serving.RegisterService(&grpc.ServiceDesc{
		ServiceName: "github.com.karmada_io.karmada.pkg.estimator.service.Estimator",
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "MaxAvailableReplicas", Handler: func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			request := newMessage("Request")
			if err := decode(request); err != nil {
				return nil, err
			}
			s.asked.Add(1)
			replicas, err := (*s.answer.Load())(ctx, request)
			if err != nil {
				return nil, err
			}
			answer := newMessage("Answer")
			answer.Set(answer.Descriptor().Fields().ByName("replicas"), protoreflect.ValueOfInt32(replicas))
			return answer, nil
		}}},
	}, s)
	go func() { _ = serving.Serve(countingListener{listener, &s.connections}) }()
	t.Cleanup(serving.Stop)
	return s
}

// services are the Services of the hub, by name.
type services map[string]*corev1.Service

func (s services) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	found, ok := s[key.Namespace+"/"+key.Name]
	if !ok {
		return apierrors.NewNotFound(corev1.Resource("services"), key.Name)
	}
	found.DeepCopyInto(object.(*corev1.Service))
	return nil
}

func (s services) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return fmt.Errorf("nobody lists services")
}

// lead makes a Service lead to an address.
func (s services) lead(t *testing.T, cluster, address string) {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	target := intstr.Parse(port)
	name := estimator.DefaultPrefix + "-" + cluster
	s[estimator.DefaultNamespace+"/"+name] = &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: estimator.DefaultNamespace, Name: name},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: host,
			Ports: []corev1.ServicePort{{Port: estimator.DefaultPort, TargetPort: target}}},
	}
}

// fixture is a client with what it works with.
type fixture struct {
	*estimator.Client
	services services
	recorder *events.FakeRecorder
	clock    *clocktesting.FakePassiveClock
}

func newFixture(t *testing.T, change func(*estimator.Options)) *fixture {
	t.Helper()
	options := estimator.Options{Enabled: true, Timeout: time.Minute, Prefix: estimator.DefaultPrefix, Namespace: estimator.DefaultNamespace, Port: estimator.DefaultPort}
	if change != nil {
		change(&options)
	}
	if err := options.Complete(); err != nil {
		t.Fatal(err)
	}
	f := &fixture{services: services{}, recorder: events.NewFakeRecorder(100), clock: clocktesting.NewFakePassiveClock(time.Now())}
	var err error
	if f.Client, err = estimator.New(options, estimator.Deps{Services: f.services, Recorder: f.recorder, Clock: f.clock}); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = f.Start(ctx) })
	t.Cleanup(func() { stop(); running.Wait() })
	return f
}
