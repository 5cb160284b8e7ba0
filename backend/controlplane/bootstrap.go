package controlplane

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
)

// hubNamespaces exist on every hub (contract karmada.md section 3.1). An agent
// may not create karmada-cluster, so the hub does.
var hubNamespaces = []string{metav1.NamespacePublic, metav1.NamespaceSystem, "karmada-system", "karmada-cluster"}

const clusterInfoRole = "system:karmada:bootstrap-signer-clusterinfo"

// bootstrapHub writes what members and their clients expect to find: the
// namespaces, and cluster-info readable without credentials (section 5.3).
func bootstrapHub(ctx context.Context, config *rest.Config, advertise string, ca []byte) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("build bootstrap client: %w", err)
	}
	for _, name := range hubNamespaces {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if name == "karmada-system" || name == "karmada-cluster" {
			namespace.Labels = map[string]string{"karmada.io/system": "true"}
		}
		_, err := client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) && len(namespace.Labels) > 0 { // the bootstrap roles may have made it, bare
			_, err = client.CoreV1().Namespaces().Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"labels":{"karmada.io/system":"true"}}}`), metav1.PatchOptions{})
		}
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create namespace %s: %w", name, err)
		}
	}
	if err := publishClusterInfo(ctx, client, advertise, ca); err != nil {
		return err
	}
	return allowClusterInfo(ctx, client)
}

// publishClusterInfo writes the kubeconfig without users that joining clients
// discover the hub by. Its one cluster has the empty name, as clients expect.
func publishClusterInfo(ctx context.Context, client kubernetes.Interface, advertise string, ca []byte) error {
	config := clientcmdapi.NewConfig()
	config.Clusters[""] = &clientcmdapi.Cluster{Server: "https://" + advertise, CertificateAuthorityData: ca}
	data, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("encode cluster-info: %w", err)
	}
	maps := client.CoreV1().ConfigMaps(metav1.NamespacePublic)
	current, err := maps.Get(ctx, bootstrapapi.ConfigMapClusterInfo, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		info := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: bootstrapapi.ConfigMapClusterInfo, Namespace: metav1.NamespacePublic},
			Data:       map[string]string{bootstrapapi.KubeConfigKey: string(data)},
		}
		if _, err := maps.Create(ctx, info, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create cluster-info: %w", err)
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("read cluster-info: %w", err)
	}
	if current.Data[bootstrapapi.KubeConfigKey] == string(data) {
		return nil
	}
	if current.Data == nil {
		current.Data = map[string]string{}
	}
	current.Data[bootstrapapi.KubeConfigKey] = string(data)
	if _, err := maps.Update(ctx, current, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("update cluster-info: %w", err)
	}
	return nil
}

func allowClusterInfo(ctx context.Context, client kubernetes.Interface) error {
	meta := metav1.ObjectMeta{Name: clusterInfoRole, Namespace: metav1.NamespacePublic, Labels: map[string]string{"karmada.io/bootstrapping": "rbac-defaults"}}
	role := &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
		Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{bootstrapapi.ConfigMapClusterInfo},
	}}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: clusterInfoRole},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "system:anonymous"}},
	}
	if _, err := client.RbacV1().Roles(meta.Namespace).Create(ctx, role, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create role %s: %w", clusterInfoRole, err)
	}
	if _, err := client.RbacV1().RoleBindings(meta.Namespace).Create(ctx, binding, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create role binding %s: %w", clusterInfoRole, err)
	}
	return nil
}
