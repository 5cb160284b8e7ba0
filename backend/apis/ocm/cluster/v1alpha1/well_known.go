package v1alpha1

// Claims that have a meaning for everybody.
const (
	// ClaimID identifies a cluster; it never changes.
	ClaimID = "id.k8s.io"
	// ClaimPlatform is what the cluster runs on.
	ClaimPlatform = "platform.open-cluster-management.io"
	// ClaimProduct is what the cluster is.
	ClaimProduct = "product.open-cluster-management.io"
	// ClaimKubeVersion is the Kubernetes version.
	ClaimKubeVersion = "kubeversion.open-cluster-management.io"
	// ClaimRegion is where the cluster is.
	ClaimRegion = "region.open-cluster-management.io"
)
