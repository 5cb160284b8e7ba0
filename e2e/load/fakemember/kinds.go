package main

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kind is one kind that a member serves.
type kind struct {
	schema.GroupVersion
	resource, name string
	namespaced     bool
	subresources   []string
}

// everything are the verbs of every resource; subresources have those of updates.
var (
	everything = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	updates    = []string{"get", "patch", "update"}
)

// kinds are what a member serves: the kinds of a plain cluster that workloads
// are made of.
var kinds = slices.Concat(
	group("", "v1", true, "Pod status", "ConfigMap", "Secret", "Service status", "ServiceAccount", "PersistentVolumeClaim status",
		"Endpoints", "Event", "LimitRange", "ResourceQuota status", "ReplicationController status scale"),
	group("", "v1", false, "Namespace status", "Node status", "PersistentVolume status"),
	group("apps", "v1", true, "Deployment status scale", "StatefulSet status scale", "DaemonSet status", "ReplicaSet status scale", "ControllerRevision"),
	group("batch", "v1", true, "Job status", "CronJob status"),
	group("autoscaling", "v2", true, "HorizontalPodAutoscaler status"),
	group("policy", "v1", true, "PodDisruptionBudget status"),
	group("networking.k8s.io", "v1", true, "Ingress status", "NetworkPolicy"),
	group("networking.k8s.io", "v1", false, "IngressClass"),
	group("discovery.k8s.io", "v1", true, "EndpointSlice"),
	group("coordination.k8s.io", "v1", true, "Lease"),
	group("rbac.authorization.k8s.io", "v1", true, "Role", "RoleBinding"),
	group("rbac.authorization.k8s.io", "v1", false, "ClusterRole", "ClusterRoleBinding"),
	group("storage.k8s.io", "v1", false, "StorageClass"),
	group("scheduling.k8s.io", "v1", false, "PriorityClass"),
	group("apiextensions.k8s.io", "v1", false, "CustomResourceDefinition status"),
	group("apiregistration.k8s.io", "v1", false, "APIService status"),
)

// group makes kinds of one group from words: the name, then its subresources.
func group(name, version string, namespaced bool, list ...string) []kind {
	made := make([]kind, 0, len(list))
	for _, words := range list {
		fields := strings.Fields(words)
		made = append(made, kind{
			GroupVersion: schema.GroupVersion{Group: name, Version: version}, name: fields[0], resource: plural(fields[0]),
			namespaced: namespaced, subresources: fields[1:],
		})
	}
	return made
}

func plural(name string) string {
	name = strings.ToLower(name)
	switch {
	case name == "endpoints":
		return name
	case strings.HasSuffix(name, "y"):
		return strings.TrimSuffix(name, "y") + "ies"
	case strings.HasSuffix(name, "s"):
		return name + "es"
	}
	return name + "s"
}

// groupVersions are the served versions in order of kinds.
func groupVersions() []schema.GroupVersion {
	var list []schema.GroupVersion
	for _, k := range kinds {
		if !slices.Contains(list, k.GroupVersion) {
			list = append(list, k.GroupVersion)
		}
	}
	return list
}

// legacyResources are the kinds of one version as older clients ask for them.
func legacyResources(gv schema.GroupVersion) *metav1.APIResourceList {
	list := &metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv.String()}
	for _, k := range kinds {
		if k.GroupVersion != gv {
			continue
		}
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: k.resource, SingularName: strings.ToLower(k.name), Namespaced: k.namespaced, Kind: k.name, Verbs: everything})
		for _, s := range k.subresources {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: k.resource + "/" + s, Namespaced: k.namespaced, Kind: k.name, Verbs: updates})
		}
	}
	return list
}
