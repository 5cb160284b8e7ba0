package estimatortest

import (
	"net"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"muster.dev/muster/backend/estimator"
)

// Service leads to an address as the Service on a hub does that names the estimator
// of a cluster.
func Service(t testing.TB, cluster, address string) *corev1.Service {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: estimator.DefaultNamespace, Name: estimator.DefaultPrefix + "-" + cluster},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: host,
			Ports: []corev1.ServicePort{{Port: estimator.DefaultPort, TargetPort: intstr.Parse(port)}}},
	}
}
