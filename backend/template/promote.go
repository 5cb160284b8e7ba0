package template

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/utils/ptr"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	"muster.dev/muster/backend/apis/work/manifest"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/kube"
)

// PromoteRequest asks for an object of a member to become a template of the hub,
// with a policy that sends it back to that member (contract section 12.4).
type PromoteRequest struct {
	Hub *rest.Config
	// Member reaches the member; nil goes by the hub's proxy.
	Member  *rest.Config
	Cluster string
	// Type is the kind of the object as people write it: "deployment", "deploy",
	// "deployments.v1.apps".
	Type, Namespace, Name string
	// PolicyName names the policy; empty stands for a name made from the object's.
	PolicyName string
	// WithoutPolicy creates the template only.
	WithoutPolicy bool
	// Interpreter, if there is one, says what the object refers to: that is
	// promoted too, and the policy sends it along.
	Interpreter Interpreter
}

// Promotion is what a promotion creates.
type Promotion struct {
	Template *unstructured.Unstructured
	// Resource is the template's.
	Resource schema.GroupVersionResource
	// Exists says that the hub has the template already: nothing is created.
	Exists bool
	// Dependencies are templates that the first one refers to and that the hub does not have.
	Dependencies []*unstructured.Unstructured
	// Policy is nil where none is wanted.
	Policy PolicyObject

	hub       dynamic.Interface
	resources map[*unstructured.Unstructured]schema.GroupVersionResource
}

// side is one of the two APIs of a promotion.
type side struct {
	objects dynamic.Interface
	mapper  meta.RESTMapper
}

func newSide(config *rest.Config, what string) (*side, error) {
	config = rest.CopyConfig(config)
	config.WarningHandler = rest.NoWarnings{}
	kinds, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("build client of %s: %w", what, err)
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("build client of %s: %w", what, err)
	}
	groups, err := restmapper.GetAPIGroupResources(kinds)
	if err != nil {
		return nil, fmt.Errorf("list kinds of %s: %w", what, kube.Fault(err))
	}
	return &side{objects: objects, mapper: restmapper.NewShortcutExpander(restmapper.NewDiscoveryRESTMapper(groups), kinds, nil)}, nil
}

// get reads an object of a kind that both sides know by its name.
func (s *side) get(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, *meta.RESTMapping, error) {
	mapping, err := s.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, nil, err
	}
	o, err := s.objects.Resource(mapping.Resource).Namespace(scoped(mapping, namespace)).Get(ctx, name, metav1.GetOptions{})
	return o, mapping, err
}

func scoped(mapping *meta.RESTMapping, namespace string) string {
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return namespace
	}
	return ""
}

// PlanPromotion reads the object and says what a promotion would create. It
// writes nothing.
func PlanPromotion(ctx context.Context, r PromoteRequest) (*Promotion, error) {
	hub, err := newSide(r.Hub, "the hub")
	if err != nil {
		return nil, err
	}
	member, err := r.member(ctx, hub)
	if err != nil {
		return nil, err
	}
	kind, err := member.kindOf(r.Type)
	if err != nil {
		return nil, err
	}
	o, mapping, err := member.get(ctx, kind, r.Namespace, r.Name)
	if apierrors.IsNotFound(err) {
		return nil, fault.NotFound("cluster %s has no %s %s", r.Cluster, kind.Kind, r.Name).WithFix("check the name and, with -n, the namespace")
	}
	if err != nil {
		return nil, fmt.Errorf("read %s %s of cluster %s: %w", kind.Kind, r.Name, r.Cluster, kube.Fault(err))
	}
	p := &Promotion{Template: promoted(o), Resource: mapping.Resource, hub: hub.objects, resources: map[*unstructured.Unstructured]schema.GroupVersionResource{}}
	if p.Exists, err = p.take(ctx, hub, p.Template); err != nil || p.Exists {
		return p, err
	}
	if r.Interpreter != nil {
		if err := p.addDependencies(ctx, r, hub, member, o); err != nil {
			return nil, err
		}
	}
	if r.WithoutPolicy {
		return p, nil
	}
	p.Policy = r.policy(p.Template)
	return p, p.refuseExisting(ctx)
}

// member reaches the member, by the hub's proxy if nothing else is given.
func (r PromoteRequest) member(ctx context.Context, hub *side) (*side, error) {
	clusters := clusterv1alpha1.GroupVersion.WithResource("clusters")
	if _, err := hub.objects.Resource(clusters).Get(ctx, r.Cluster, metav1.GetOptions{}); apierrors.IsNotFound(err) {
		return nil, fault.NotFound("the hub has no cluster %s", r.Cluster).WithFix("see `kubectl get clusters`")
	} else if err != nil {
		return nil, fmt.Errorf("read cluster %s: %w", r.Cluster, kube.Fault(err))
	}
	config := r.Member
	if config == nil {
		config = rest.CopyConfig(r.Hub)
		config.Host = strings.TrimRight(config.Host, "/") + "/apis/" + clusterv1alpha1.GroupVersion.String() + "/clusters/" + url.PathEscape(r.Cluster) + "/proxy"
	}
	return newSide(config, "cluster "+r.Cluster)
}

func (s *side) kindOf(written string) (schema.GroupVersionKind, error) {
	full, short := schema.ParseResourceArg(strings.ToLower(written))
	if full != nil {
		if kind, err := s.mapper.KindFor(*full); err == nil {
			return kind, nil
		}
	}
	kind, err := s.mapper.KindFor(short.WithVersion(""))
	if err != nil {
		return kind, fault.NotFound("the cluster does not serve %q", written).WithFix("see `kubectl api-resources`")
	}
	return kind, nil
}

// promoted is an object as a template: without what belongs to the member, and
// taking the member's object over when it comes back.
func promoted(o *unstructured.Unstructured) *unstructured.Unstructured {
	o = o.DeepCopy()
	manifest.Prune(o)
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	if annotations[workv1alpha1.ConflictResolutionAnnotation] == "" {
		annotations[workv1alpha1.ConflictResolutionAnnotation] = workv1alpha1.ConflictResolutionOverwrite
	}
	o.SetAnnotations(annotations)
	return o
}

// take looks whether the hub has a template, and remembers how it serves it.
func (p *Promotion) take(ctx context.Context, hub *side, o *unstructured.Unstructured) (exists bool, err error) {
	_, mapping, err := hub.get(ctx, o.GroupVersionKind(), o.GetNamespace(), o.GetName())
	switch {
	case meta.IsNoMatchError(err):
		return false, fault.Invalid("the hub does not serve %s %s", o.GetAPIVersion(), o.GetKind()).WithFix("install its CustomResourceDefinition on the hub first")
	case apierrors.IsNotFound(err):
		p.resources[o] = mapping.Resource
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look for %s on the hub: %w", RefOf(o), kube.Fault(err))
	}
	return true, nil
}

func (p *Promotion) addDependencies(ctx context.Context, r PromoteRequest, hub, member *side, o *unstructured.Unstructured) error {
	needed, err := r.Interpreter.Dependencies(ctx, o)
	if err != nil {
		return fmt.Errorf("find out what %s needs: %w", RefOf(o), err)
	}
	for _, reference := range needed {
		if reference.Name == "" {
			continue // what a selector means is not the object's own
		}
		found, _, err := member.get(ctx, schema.FromAPIVersionAndKind(reference.APIVersion, reference.Kind), reference.Namespace, reference.Name)
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
			continue // optional, or missing in the member too
		}
		if err != nil {
			return fmt.Errorf("read %s %s of cluster %s: %w", reference.Kind, reference.Name, r.Cluster, kube.Fault(err))
		}
		template := promoted(found)
		exists, err := p.take(ctx, hub, template)
		if err != nil {
			return err
		}
		if !exists {
			p.Dependencies = append(p.Dependencies, template)
		}
	}
	return nil
}

// policy sends the template back to where it came from, takes the object there
// over and leaves it there whatever happens.
func (r PromoteRequest) policy(o *unstructured.Unstructured) PolicyObject {
	name := r.PolicyName
	if name == "" {
		name = o.GetName() + "-" + code(o.GetNamespace()+o.GroupVersionKind().String())
	}
	spec := policyv1alpha1.PropagationSpec{
		ResourceSelectors:           []policyv1alpha1.ResourceSelector{{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Name: o.GetName()}},
		Placement:                   policyv1alpha1.Placement{ClusterAffinity: &policyv1alpha1.ClusterAffinity{ClusterNames: []string{r.Cluster}}},
		PropagateDeps:               r.Interpreter != nil,
		ConflictResolution:          policyv1alpha1.ConflictOverwrite,
		PreserveResourcesOnDeletion: ptr.To(true),
	}
	version := policyv1alpha1.GroupVersion.String()
	if o.GetNamespace() == "" {
		return &policyv1alpha1.ClusterPropagationPolicy{
			TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: policyv1alpha1.ResourceKindClusterPropagationPolicy}, ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec,
		}
	}
	return &policyv1alpha1.PropagationPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: version, Kind: policyv1alpha1.ResourceKindPropagationPolicy},
		ObjectMeta: metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: name}, Spec: spec,
	}
}

func (p *Promotion) policies() dynamic.ResourceInterface {
	plural := "clusterpropagationpolicies"
	if p.Policy.GetNamespace() != "" {
		plural = "propagationpolicies"
	}
	return p.hub.Resource(policyv1alpha1.GroupVersion.WithResource(plural)).Namespace(p.Policy.GetNamespace())
}

// refuseExisting keeps a promotion from ending half way, with a template and
// without its policy.
func (p *Promotion) refuseExisting(ctx context.Context) error {
	_, err := p.policies().Get(ctx, p.Policy.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for %s: %w", ClaimOf(p.Policy), kube.Fault(err))
	}
	return fault.Conflict("%s exists already", ClaimOf(p.Policy)).WithFix("choose another name with --policy-name, or use that policy with --auto-create-policy=false")
}

// Create makes templates and policy on the hub. It says what it has made.
func (p *Promotion) Create(ctx context.Context, made func(kind, namespace, name string)) error {
	for _, o := range append([]*unstructured.Unstructured{p.Template}, p.Dependencies...) {
		if _, err := p.hub.Resource(p.resources[o]).Namespace(o.GetNamespace()).Create(ctx, o, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create %s on the hub: %w", RefOf(o), kube.Fault(err))
		}
		made("ResourceTemplate", o.GetNamespace(), o.GetName())
	}
	if p.Policy == nil {
		return nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(p.Policy)
	if err != nil {
		return fmt.Errorf("encode %s: %w", ClaimOf(p.Policy), err)
	}
	if _, err := p.policies().Create(ctx, &unstructured.Unstructured{Object: content}, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create %s: %w", ClaimOf(p.Policy), kube.Fault(err))
	}
	made(p.Policy.GetObjectKind().GroupVersionKind().Kind, p.Policy.GetNamespace(), p.Policy.GetName())
	return nil
}
