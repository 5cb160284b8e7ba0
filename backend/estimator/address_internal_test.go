package estimator

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// oneService answers with one Service, or with an error.
type oneService struct {
	client.Reader
	service *corev1.Service
	err     error
}

func (s oneService) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	if s.err != nil {
		return s.err
	}
	if s.service == nil || key.Namespace != "estimators" || key.Name != "guess-m1" {
		return apierrors.NewNotFound(corev1.Resource("services"), key.Name)
	}
	s.service.DeepCopyInto(object.(*corev1.Service))
	return nil
}

func TestAddresses(t *testing.T) {
	service := func(kind corev1.ServiceType, port int32, target intstr.IntOrString) *corev1.Service {
		return &corev1.Service{Spec: corev1.ServiceSpec{Type: kind, ExternalName: "host.example", Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(1)}, {Port: port, TargetPort: target}}}}
	}
	for name, test := range map[string]struct {
		services oneService
		template string
		want     []string
		refused  string
	}{
		"a Service":                 {services: oneService{service: service(corev1.ServiceTypeExternalName, 9000, intstr.FromInt32(31000))}, template: "unused:1", want: []string{"host.example:31000"}},
		"a template":                {template: "{cluster}.example:7000", want: []string{"m1.example:7000"}},
		"neither":                   {want: []string{"guess-m1.estimators.svc.cluster.local:9000", "guess-m1.estimators.svc:9000"}},
		"a Service of another type": {services: oneService{service: service(corev1.ServiceTypeClusterIP, 9000, intstr.FromInt32(1))}, refused: "ExternalName"},
		"another port":              {services: oneService{service: service(corev1.ServiceTypeExternalName, 9001, intstr.FromInt32(1))}, refused: "has no port 9000"},
		"a named port":              {services: oneService{service: service(corev1.ServiceTypeExternalName, 9000, intstr.FromString("grpc"))}, refused: "must be a number"},
		"an API that fails":         {services: oneService{err: errors.New("gone away")}, template: "{cluster}:1", refused: "gone away"},
	} {
		c := &Client{services: test.services, options: Options{Prefix: "guess", Namespace: "estimators", Port: 9000, Address: test.template}}
		got, err := c.addresses(t.Context(), "m1")
		if test.refused != "" {
			if err == nil || !strings.Contains(err.Error(), test.refused) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestOptions(t *testing.T) {
	valid := func() Options { return Options{Enabled: true, Timeout: DefaultTimeout, Port: DefaultPort} }
	for name, change := range map[string]func(*Options){
		"timeout":               func(o *Options) { o.Timeout = 0 },
		"port":                  func(o *Options) { o.Port = 70000 },
		"certificate":           func(o *Options) { o.CertFile = "a.pem" },
		"address without port":  func(o *Options) { o.Address = "{cluster}.example" },
		"address, a named port": func(o *Options) { o.Address = "{cluster}:grpc" },
	} {
		options := valid()
		if err := options.Complete(); err != nil {
			t.Fatal(err)
		}
		if change(&options); options.Complete() == nil {
			t.Errorf("%s is accepted", name)
		}
		if options.Enabled = false; options.Complete() != nil {
			t.Errorf("%s matters although estimators are off", name)
		}
	}
}

func TestAnswer(t *testing.T) {
	for raw, want := range map[string]int32{"": 0, "\x08\x07": 7, "\x12\x01x\x08\x02": 2, "\x08\xff\xff\xff\xff\x07": 1<<31 - 1} {
		if got, err := answer([]byte(raw)); got != want || err != nil {
			t.Errorf("%q: %d, %v", raw, got, err)
		}
	}
	for _, raw := range []string{"\x08", "\x12\x05x", "\xff", "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"} {
		if got, err := answer([]byte(raw)); err == nil {
			t.Errorf("%q was read as %d", raw, got)
		}
	}
}
