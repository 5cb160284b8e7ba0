package native

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	configv1alpha1 "muster.dev/muster/backend/apis/config/v1alpha1"
)

// derivedPrefix starts the name of the Service that stands for a ServiceImport.
const derivedPrefix = "derived-"

// Dependencies returns the objects that an object needs beside it: what its pod
// template mounts and reads, an Ingress's certificates, a ServiceImport's Service.
// The list is sorted and holds nothing twice. known is false for other kinds.
func Dependencies(o *unstructured.Unstructured) (list []configv1alpha1.DependentObjectReference, known bool, err error) {
	switch o.GroupVersionKind().GroupKind() {
	case schema.GroupKind{Group: "networking.k8s.io", Kind: "Ingress"}:
		list, err = ofIngress(o)
		return list, true, err
	case schema.GroupKind{Group: "multicluster.x-k8s.io", Kind: "ServiceImport"}:
		return ofServiceImport(o), true, nil
	}
	template, known, err := podTemplate(o)
	if err != nil || !known {
		return nil, known, err
	}
	list = PodDependencies(template, o.GetNamespace())
	if o.GroupVersionKind().GroupKind() == (schema.GroupKind{Group: "apps", Kind: "StatefulSet"}) {
		list, err = withoutOwnClaims(o, list)
	}
	return list, true, err
}

// PodDependencies returns the objects of a namespace that a pod of a template
// needs: ConfigMaps, Secrets, its ServiceAccount and PersistentVolumeClaims.
func PodDependencies(template *corev1.PodTemplateSpec, namespace string) []configv1alpha1.DependentObjectReference {
	d := &dependents{namespace: namespace}
	spec := &template.Spec
	for _, ref := range spec.ImagePullSecrets {
		d.add(kindSecret, ref.Name)
	}
	for i := range spec.InitContainers {
		d.container(spec.InitContainers[i].Env, spec.InitContainers[i].EnvFrom)
	}
	for i := range spec.Containers {
		d.container(spec.Containers[i].Env, spec.Containers[i].EnvFrom)
	}
	for i := range spec.EphemeralContainers {
		d.container(spec.EphemeralContainers[i].Env, spec.EphemeralContainers[i].EnvFrom)
	}
	for i := range spec.Volumes {
		d.volume(&spec.Volumes[i].VolumeSource)
	}
	if name := spec.ServiceAccountName; name != "default" {
		d.add(kindServiceAccount, name)
	}
	return d.sorted()
}

const (
	kindConfigMap      = "ConfigMap"
	kindSecret         = "Secret"
	kindServiceAccount = "ServiceAccount"
	kindClaim          = "PersistentVolumeClaim"
)

// dependents collects references to objects of the core group.
type dependents struct {
	namespace string
	list      []configv1alpha1.DependentObjectReference
}

func (d *dependents) add(kind, name string) {
	if name != "" {
		d.list = append(d.list, configv1alpha1.DependentObjectReference{APIVersion: "v1", Kind: kind, Namespace: d.namespace, Name: name})
	}
}

func (d *dependents) container(env []corev1.EnvVar, from []corev1.EnvFromSource) {
	for _, e := range env {
		if e.ValueFrom == nil {
			continue
		}
		if ref := e.ValueFrom.ConfigMapKeyRef; ref != nil {
			d.add(kindConfigMap, ref.Name)
		}
		if ref := e.ValueFrom.SecretKeyRef; ref != nil {
			d.add(kindSecret, ref.Name)
		}
	}
	for _, e := range from {
		if e.ConfigMapRef != nil {
			d.add(kindConfigMap, e.ConfigMapRef.Name)
		}
		if e.SecretRef != nil {
			d.add(kindSecret, e.SecretRef.Name)
		}
	}
}

func (d *dependents) volume(v *corev1.VolumeSource) {
	switch {
	case v.ConfigMap != nil:
		d.add(kindConfigMap, v.ConfigMap.Name)
	case v.Secret != nil:
		d.add(kindSecret, v.Secret.SecretName)
	case v.PersistentVolumeClaim != nil:
		d.add(kindClaim, v.PersistentVolumeClaim.ClaimName)
	case v.Projected != nil:
		for _, source := range v.Projected.Sources {
			if source.ConfigMap != nil {
				d.add(kindConfigMap, source.ConfigMap.Name)
			}
			if source.Secret != nil {
				d.add(kindSecret, source.Secret.Name)
			}
		}
	case v.AzureFile != nil:
		d.add(kindSecret, v.AzureFile.SecretName)
	default:
		d.add(kindSecret, driverSecret(v))
	}
}

// driverSecret returns the Secret with which a storage driver reaches its server.
func driverSecret(v *corev1.VolumeSource) string {
	var ref *corev1.LocalObjectReference
	switch {
	case v.CephFS != nil:
		ref = v.CephFS.SecretRef
	case v.Cinder != nil:
		ref = v.Cinder.SecretRef
	case v.FlexVolume != nil:
		ref = v.FlexVolume.SecretRef
	case v.RBD != nil:
		ref = v.RBD.SecretRef
	case v.ScaleIO != nil:
		ref = v.ScaleIO.SecretRef
	case v.ISCSI != nil:
		ref = v.ISCSI.SecretRef
	case v.StorageOS != nil:
		ref = v.StorageOS.SecretRef
	case v.CSI != nil:
		ref = v.CSI.NodePublishSecretRef
	}
	if ref == nil {
		return ""
	}
	return ref.Name
}

func (d *dependents) sorted() []configv1alpha1.DependentObjectReference {
	slices.SortFunc(d.list, func(a, b configv1alpha1.DependentObjectReference) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return slices.CompactFunc(d.list, func(a, b configv1alpha1.DependentObjectReference) bool { return a.Kind == b.Kind && a.Name == b.Name })
}

// withoutOwnClaims leaves out the claims that a StatefulSet makes itself.
func withoutOwnClaims(o *unstructured.Unstructured, list []configv1alpha1.DependentObjectReference) ([]configv1alpha1.DependentObjectReference, error) {
	claims, _, err := unstructured.NestedSlice(o.Object, "spec", "volumeClaimTemplates")
	if err != nil {
		return nil, fmt.Errorf("read the volume claim templates: %w", err)
	}
	own := map[string]bool{}
	for _, claim := range claims {
		if fields, ok := claim.(map[string]any); ok {
			name, _, _ := unstructured.NestedString(fields, "metadata", "name")
			own[name] = true
		}
	}
	return slices.DeleteFunc(list, func(r configv1alpha1.DependentObjectReference) bool { return r.Kind == kindClaim && own[r.Name] }), nil
}

func ofIngress(o *unstructured.Unstructured) ([]configv1alpha1.DependentObjectReference, error) {
	tls, _, err := unstructured.NestedSlice(o.Object, "spec", "tls")
	if err != nil {
		return nil, fmt.Errorf("read the certificates: %w", err)
	}
	d := &dependents{namespace: o.GetNamespace()}
	for _, entry := range tls {
		if fields, ok := entry.(map[string]any); ok {
			name, _ := fields["secretName"].(string)
			d.add(kindSecret, name)
		}
	}
	return d.sorted(), nil
}

func ofServiceImport(o *unstructured.Unstructured) []configv1alpha1.DependentObjectReference {
	service := derivedPrefix + o.GetName()
	return []configv1alpha1.DependentObjectReference{
		{APIVersion: "v1", Kind: "Service", Namespace: o.GetNamespace(), Name: service},
		{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSlice", Namespace: o.GetNamespace(),
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/service-name": service}}},
	}
}
