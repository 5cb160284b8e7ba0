package registry

import (
	"net/url"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/kube-openapi/pkg/common"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	"muster.dev/muster/backend/apis/openapi"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

var (
	// Scheme knows the typed kinds. The Go type that is stored is registered as its wire version and as the internal version, so that
	// only older versions need conversion.
	Scheme = newScheme()
	// Codecs encodes and decodes what Scheme knows.
	Codecs = serializer.NewCodecFactory(Scheme)
	// ParameterCodec decodes the query parameters of requests.
	ParameterCodec = runtime.NewParameterCodec(Scheme)
)

// OpenAPIDefinitions describes the typed kinds. The API server adds it to the definitions of its own kinds, which it refers to.
func OpenAPIDefinitions(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	return openapi.Definitions(ref)
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	register(scheme, clusterv1alpha1.GroupVersion, &clusterv1alpha1.Cluster{}, &clusterv1alpha1.ClusterList{}, &clusterv1alpha1.ClusterProxyOptions{})
	register(scheme, workv1alpha1.GroupVersion, &workv1alpha1.Work{}, &workv1alpha1.WorkList{})
	scheme.AddKnownTypes(workv1alpha1.GroupVersion, &workv1alpha1.ResourceBinding{}, &workv1alpha1.ResourceBindingList{},
		&workv1alpha1.ClusterResourceBinding{}, &workv1alpha1.ClusterResourceBindingList{})
	addBindingConversions(scheme)
	register(scheme, workv1alpha2.GroupVersion, &workv1alpha2.ResourceBinding{}, &workv1alpha2.ResourceBindingList{},
		&workv1alpha2.ClusterResourceBinding{}, &workv1alpha2.ClusterResourceBindingList{})
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	utilruntime.Must(scheme.SetVersionPriority(clusterv1alpha1.GroupVersion))
	// Discovery names the newest version of a group first.
	utilruntime.Must(scheme.SetVersionPriority(workv1alpha2.GroupVersion, workv1alpha1.GroupVersion))
	scheme.AddTypeDefaultingFunc(&workv1alpha2.ResourceBinding{}, func(obj any) {
		defaultBindingSpec(&obj.(*workv1alpha2.ResourceBinding).Spec)
	})
	scheme.AddTypeDefaultingFunc(&workv1alpha2.ClusterResourceBinding{}, func(obj any) {
		defaultBindingSpec(&obj.(*workv1alpha2.ClusterResourceBinding).Spec)
	})
	utilruntime.Must(scheme.AddConversionFunc((*url.Values)(nil), (*clusterv1alpha1.ClusterProxyOptions)(nil), func(from, to any, _ conversion.Scope) error {
		to.(*clusterv1alpha1.ClusterProxyOptions).Path = from.(*url.Values).Get(proxyPathParameter)
		return nil
	}))
	return scheme
}

func register(scheme *runtime.Scheme, version schema.GroupVersion, kinds ...runtime.Object) {
	scheme.AddKnownTypes(schema.GroupVersion{Group: version.Group, Version: runtime.APIVersionInternal}, kinds...)
	scheme.AddKnownTypes(version, kinds...)
	metav1.AddToGroupVersion(scheme, version)
}

// textOnly offers JSON and YAML. Without it a client that accepts protobuf before JSON is refused, because our kinds have no protobuf
// form; with it the client gets JSON, as it does for custom resources.
type textOnly struct{ runtime.NegotiatedSerializer }

// SupportedMediaTypes returns what the wrapped serializer supports, without the binary formats.
func (t textOnly) SupportedMediaTypes() []runtime.SerializerInfo {
	var infos []runtime.SerializerInfo
	for _, info := range t.NegotiatedSerializer.SupportedMediaTypes() {
		if info.EncodesAsText {
			infos = append(infos, info)
		}
	}
	return infos
}
