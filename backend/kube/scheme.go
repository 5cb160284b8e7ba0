package kube

import (
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	appsv1alpha1 "muster.dev/muster/backend/apis/apps/v1alpha1"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	configv1alpha1 "muster.dev/muster/backend/apis/config/v1alpha1"
	ocmaddonv1alpha1 "muster.dev/muster/backend/apis/ocm/addon/v1alpha1"
	ocmaddonv1beta1 "muster.dev/muster/backend/apis/ocm/addon/v1beta1"
	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmv1alpha1 "muster.dev/muster/backend/apis/ocm/cluster/v1alpha1"
	ocmv1beta1 "muster.dev/muster/backend/apis/ocm/cluster/v1beta1"
	ocmv1beta2 "muster.dev/muster/backend/apis/ocm/cluster/v1beta2"
	ocmoperatorv1 "muster.dev/muster/backend/apis/ocm/operator/v1"
	ocmworkv1 "muster.dev/muster/backend/apis/ocm/work/v1"
	ocmworkv1alpha1 "muster.dev/muster/backend/apis/ocm/work/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	remedyv1alpha1 "muster.dev/muster/backend/apis/remedy/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// Scheme holds Kubernetes' own kinds, custom resource definitions and the kinds
// of ours that controllers handle. It is shared and must not be changed.
var Scheme = sync.OnceValue(func() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme,
		appsv1alpha1.AddToScheme, configv1alpha1.AddToScheme, clusterv1alpha1.AddToScheme, policyv1alpha1.AddToScheme, remedyv1alpha1.AddToScheme, workv1alpha1.AddToScheme, workv1alpha2.AddToScheme,
		ocmv1.AddToScheme, ocmv1alpha1.AddToScheme, ocmv1beta1.AddToScheme, ocmv1beta2.AddToScheme, ocmworkv1.AddToScheme, ocmworkv1alpha1.AddToScheme,
		ocmaddonv1alpha1.AddToScheme, ocmaddonv1beta1.AddToScheme, ocmoperatorv1.AddToScheme,
	} {
		utilruntime.Must(add(scheme))
	}
	return scheme
})
