package main

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"muster.dev/muster/backend/apis"
	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
)

// seeded returns the store of a member as it is before anything is applied.
func seeded(nodes int) *store {
	s := newStore()
	for _, name := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, "kube-node-lease"} {
		s.seed("namespaces", &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
			ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NamespaceStatus{Phase: corev1.NamespaceActive}})
	}
	capacity := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourceMemory: resource.MustParse("256Gi"),
		corev1.ResourcePods: resource.MustParse("10000")}
	for i := range nodes {
		s.seed("nodes", &corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i+1), Labels: map[string]string{corev1.LabelOSStable: "linux"}},
			Status: corev1.NodeStatus{Capacity: capacity, Allocatable: capacity,
				Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "FakeNode"}}}})
	}
	return s
}

func (s *store) seed(resource string, o runtime.Object) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		panic(err) // the objects are ours
	}
	s.create(resource, &unstructured.Unstructured{Object: content})
}

// registration is what a hub has to know of the members.
type registration struct {
	address, token string
	ca             []byte
	members        map[string]*store
}

// register makes the hub's Secrets and Clusters.
func register(ctx context.Context, kubeconfig string, r registration) error {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("read hub kubeconfig: %w", err)
	}
	config.QPS = -1
	hub, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("client of the hub: %w", err)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for name, member := range r.members {
		group.Go(func() error { return r.registerOne(ctx, hub, name, member) })
	}
	return group.Wait()
}

func (r registration) registerOne(ctx context.Context, hub dynamic.Interface, name string, member *store) error {
	access := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: apis.ClusterNamespace, Name: name},
		Data: map[string][]byte{clusterv1alpha1.SecretTokenKey: []byte(r.token), clusterv1alpha1.SecretCABundleKey: r.ca}}
	proxy := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: apis.ClusterNamespace, Name: name + "-impersonator"},
		Data: map[string][]byte{clusterv1alpha1.SecretTokenKey: []byte(r.token)}}
	for _, secret := range []*corev1.Secret{access, proxy} {
		secret.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}
		if err := create(ctx, hub.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(secret.Namespace), secret); err != nil {
			return fmt.Errorf("create secret %s: %w", secret.Name, err)
		}
	}
	ref := func(secret *corev1.Secret) *clusterv1alpha1.LocalSecretReference {
		return &clusterv1alpha1.LocalSecretReference{Namespace: secret.Namespace, Name: secret.Name}
	}
	cluster := &clusterv1alpha1.Cluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: clusterv1alpha1.GroupVersion.String(), Kind: clusterv1alpha1.ResourceKindCluster},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: clusterv1alpha1.ClusterSpec{
			ID:       string(member.get("namespaces", types.NamespacedName{Name: metav1.NamespaceSystem}).uid),
			SyncMode: clusterv1alpha1.Push, APIEndpoint: r.address + prefix + name, SecretRef: ref(access), ImpersonatorSecretRef: ref(proxy),
		},
	}
	if err := create(ctx, hub.Resource(clusterv1alpha1.GroupVersion.WithResource("clusters")), cluster); err != nil {
		return fmt.Errorf("create cluster %s: %w", name, err)
	}
	return nil
}

func create(ctx context.Context, client dynamic.ResourceInterface, o runtime.Object) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return err
	}
	delete(content, "status")
	_, err = client.Create(ctx, &unstructured.Unstructured{Object: content}, metav1.CreateOptions{})
	return err
}
