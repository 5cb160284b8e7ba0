// Package estimatortest runs scheduler estimators for tests: real gRPC servers that
// read and write messages by a descriptor, with protobuf's own code.
package estimatortest

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"
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
			kind("Request", plain("cluster", 1, text), message("requirements", 2, "Requirements"), repeated(message("assumed", 3, "Assumed"))),
			kind("Requirements", message("claim", 1, "Claim"), plain("namespace", 3, text), plain("priorityClass", 4, text), repeated(message("requests", 5, "Quantity"))),
			kind("Quantity", plain("key", 1, text), plain("value", 2, bytes)),
			kind("Claim", repeated(message("selector", 2, "Label")), plain("affinity", 4, bytes), repeated(plain("tolerations", 5, bytes))),
			kind("Label", plain("key", 1, text), plain("value", 2, text)),
			kind("Answer", plain("replicas", 1, number)),
			kind("SetsRequest", plain("cluster", 1, text), repeated(message("components", 2, "Component")), plain("namespace", 3, text), repeated(message("assumed", 4, "Assumed"))),
			kind("Assumed", plain("namespace", 1, text), repeated(message("components", 2, "Component"))),
			kind("Component", plain("name", 1, text), message("requirements", 2, "ComponentRequirements"), plain("replicas", 3, number)),
			kind("ComponentRequirements", message("claim", 1, "Claim"), plain("priorityClass", 3, text), repeated(message("requests", 4, "Quantity"))),
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

// Field is a field of a message that a server was asked with; its names are those of
// schema.
func Field(m protoreflect.Message, name protoreflect.Name) protoreflect.Value {
	return m.Get(m.Descriptor().Fields().ByName(name))
}

// Server is an estimator that speaks as protobuf itself does.
type Server struct {
	// Address is its host:port.
	Address string
	// Connections and Asked count.
	Connections, Asked atomic.Int32
	answer             atomic.Pointer[func(ctx context.Context, request protoreflect.Message) (int32, error)]
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

// Answers makes it answer a number of replicas from now on.
func (s *Server) Answers(replicas int32) {
	s.Does(func(context.Context, protoreflect.Message) (int32, error) { return replicas, nil })
}

// Does makes it answer by a function from now on. The request has the fields of
// schema's Request, or SetsRequest where whole sets are asked for.
func (s *Server) Does(answer func(ctx context.Context, request protoreflect.Message) (int32, error)) {
	s.answer.Store(&answer)
}

// Start starts a server that answers 0 at a port of its own until the test ends.
func Start(t testing.TB, options ...grpc.ServerOption) *Server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Address: listener.Addr().String()}
	s.Answers(0)
	serving := grpc.NewServer(options...)
	method := func(name string, asked protoreflect.Name) grpc.MethodDesc {
		return grpc.MethodDesc{MethodName: name, Handler: func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			request := newMessage(asked)
			if err := decode(request); err != nil {
				return nil, err
			}
			s.Asked.Add(1)
			replicas, err := (*s.answer.Load())(ctx, request)
			if err != nil {
				return nil, err
			}
			answer := newMessage("Answer")
			answer.Set(answer.Descriptor().Fields().ByName("replicas"), protoreflect.ValueOfInt32(replicas))
			return answer, nil
		}}
	}
	serving.RegisterService(&grpc.ServiceDesc{
		ServiceName: "github.com.karmada_io.karmada.pkg.estimator.service.Estimator",
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{method("MaxAvailableReplicas", "Request"), method("MaxAvailableComponentSets", "SetsRequest")},
	}, s)
	go func() { _ = serving.Serve(countingListener{listener, &s.Connections}) }()
	t.Cleanup(serving.Stop)
	return s
}
