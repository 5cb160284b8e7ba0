package audit

// kinds names the kinds of resources that people look for, so that one filter
// finds what was done through REST and through the hub API. Other resources are
// shown under their own name.
var kinds = map[string]string{
	"certificatesigningrequests": "CertificateSigningRequest",
	"clusteroverridepolicies":    "ClusterOverridePolicy", "clusterpropagationpolicies": "ClusterPropagationPolicy",
	"clusterresourcebindings": "ClusterResourceBinding", "clusterrolebindings": "ClusterRoleBinding", "clusterroles": "ClusterRole",
	"clusters": "Cluster", "clustertaintpolicies": "ClusterTaintPolicy", "configmaps": "ConfigMap", "cronfederatedhpas": "CronFederatedHPA",
	"cronjobs": "CronJob", "customresourcedefinitions": "CustomResourceDefinition", "daemonsets": "DaemonSet", "deployments": "Deployment",
	"endpoints": "Endpoints", "endpointslices": "EndpointSlice", "federatedhpas": "FederatedHPA", "federatedresourcequotas": "FederatedResourceQuota",
	"horizontalpodautoscalers": "HorizontalPodAutoscaler", "ingresses": "Ingress", "jobs": "Job", "limitranges": "LimitRange",
	"managedclusters":       "ManagedCluster",
	"multiclusteringresses": "MultiClusterIngress", "multiclusterservices": "MultiClusterService",
	"mutatingwebhookconfigurations": "MutatingWebhookConfiguration", "namespaces": "Namespace", "networkpolicies": "NetworkPolicy",
	"nodes": "Node", "overridepolicies": "OverridePolicy", "persistentvolumeclaims": "PersistentVolumeClaim", "persistentvolumes": "PersistentVolume",
	"pods": "Pod", "propagationpolicies": "PropagationPolicy", "remedies": "Remedy", "replicasets": "ReplicaSet",
	"resourcebindings": "ResourceBinding", "resourceinterpretercustomizations": "ResourceInterpreterCustomization",
	"resourceinterpreterwebhookconfigurations": "ResourceInterpreterWebhookConfiguration", "resourcequotas": "ResourceQuota",
	"rolebindings": "RoleBinding", "roles": "Role", "secrets": "Secret", "serviceaccounts": "ServiceAccount", "serviceexports": "ServiceExport",
	"serviceimports": "ServiceImport", "services": "Service", "statefulsets": "StatefulSet",
	"validatingwebhookconfigurations": "ValidatingWebhookConfiguration", "workloadrebalancers": "WorkloadRebalancer", "works": "Work",
}

// kindOf names the kind of a resource.
func kindOf(resource string) string {
	if kind := kinds[resource]; kind != "" {
		return kind
	}
	return resource
}
