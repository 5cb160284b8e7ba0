package estimator

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/fault"
)

// clusterInAddress stands for the cluster's name in a template of addresses.
const clusterInAddress = "{cluster}"

// checkTemplate judges a template of addresses, which may be empty.
func checkTemplate(template string) error {
	if template == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(strings.ReplaceAll(template, clusterInAddress, "c"))
	if _, bad := strconv.ParseUint(port, 10, 16); err != nil || bad != nil || host == "" {
		return fault.Invalid("--scheduler-estimator-address %q is not HOST:PORT", template).WithFix("write it like estimator-" + clusterInAddress + ".example:10352")
	}
	return nil
}

// addresses are where the estimator of a cluster may listen, in the order to try.
// Services are looked up on the hub, where those of the cluster that the hub runs in
// are not: then their names in its DNS remain.
func (c *Client) addresses(ctx context.Context, cluster string) ([]string, error) {
	service, key := &corev1.Service{}, client.ObjectKey{Namespace: c.options.Namespace, Name: c.options.Prefix + "-" + cluster}
	err := c.services.Get(ctx, key, service)
	switch {
	case err == nil:
		address, err := external(service, c.options.Port)
		return []string{address}, err
	case !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("look up service %s: %w", key, err)
	case c.options.Address != "":
		return []string{strings.ReplaceAll(c.options.Address, clusterInAddress, cluster)}, nil
	}
	port := strconv.Itoa(c.options.Port)
	name := key.Name + "." + key.Namespace + ".svc"
	return []string{net.JoinHostPort(name+".cluster.local", port), net.JoinHostPort(name, port)}, nil
}

// external is where a Service of type ExternalName leads to. One of another type
// leads nowhere: no pods run on the hub.
func external(service *corev1.Service, port int) (string, error) {
	name := service.Namespace + "/" + service.Name
	if service.Spec.Type != corev1.ServiceTypeExternalName {
		return "", fmt.Errorf("service %s on the hub is of type %s: only ExternalName leads to an estimator", name, service.Spec.Type)
	}
	at := slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return int(p.Port) == port })
	if at < 0 {
		return "", fmt.Errorf("service %s on the hub has no port %d", name, port)
	}
	target := service.Spec.Ports[at].TargetPort
	if target.Type != intstr.Int {
		return "", fmt.Errorf("service %s on the hub: targetPort of port %d must be a number", name, port)
	}
	return net.JoinHostPort(service.Spec.ExternalName, strconv.Itoa(int(target.IntVal))), nil
}
