package v1beta1

// InstallNamespaceAnnotation carries the installNamespace of v1alpha1.
const InstallNamespaceAnnotation = "addon.open-cluster-management.io/v1alpha1-install-namespace"
