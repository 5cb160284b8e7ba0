package e2e_test

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// templateCases hold the rules of contract sections 8.2 to 8.5 and 8.7.
var templateCases = map[string]func(*testing.T, *space){
	"cluster-scoped":           testClusterScoped,
	"skipped":                  testSkipped,
	"dependent-overrides":      testDependentOverrides,
	"dependent-wide-overrides": testDependentWideOverrides,
	"dependent-kinds":          testDependentKinds,
	"dependent-shared":         testDependentShared,
	"namespaces":               testNamespaces,
	"impersonator":             testImpersonator,
	"quota":                    testQuota,
}

// testClusterScoped: a template without a namespace has a binding of the wider
// kind, and it waits for another policy when its own one goes.
func testClusterScoped(t *testing.T, s *space) {
	const kind, name, claim = aClusterRole, "cluster-scoped-reader", "metadata annotations clusterpropagationpolicy.karmada.io/name"
	carry := func(policy, cluster string) {
		s.put(t, "{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterPropagationPolicy, metadata: {name: %s}, spec: {resourceSelectors: [%s], placement: {clusterAffinity: {clusterNames: [%s]}}}}",
			policy, named(kind, name), cluster)
	}
	s.put(t, "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: %s}, rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]}", name)
	carry("cluster-scoped-first", pushName)
	s.sees(t, onHub, kind, name, claim, "cluster-scoped-first")
	s.sees(t, onHub, aWideBinding, name+"-clusterrole", claim, "cluster-scoped-first", "spec clusters 0 name", pushName)
	s.sees(t, pushName, kind, name, "metadata labels karmada.io/managed", "true", claim, "cluster-scoped-first")

	s.remove(t, onHub, "policy.karmada.io/v1alpha1 ClusterPropagationPolicy", "cluster-scoped-first")
	s.sees(t, onHub, kind, name, claim, "", "metadata labels clusterpropagationpolicy.karmada.io/permanent-id", "")
	s.sees(t, onHub, aWideBinding, name+"-clusterrole", claim, "", "spec clusters 0 name", pushName)
	s.witness(t)
	s.never(t, pullName, kind, name)
	s.sees(t, pushName, kind, name) // it stays

	carry("cluster-scoped-second", pullName)
	s.sees(t, pullName, kind, name, claim, "cluster-scoped-second")
	s.gone(t, pushName, kind, name)
	s.remove(t, onHub, kind, name)
	s.gone(t, pullName, kind, name)
	s.gone(t, onHub, aWideBinding, name+"-clusterrole")
}

// testSkipped: what no policy reaches, though it means everything of a kind.
func testSkipped(t *testing.T, s *space) {
	const kind = "v1 ServiceAccount"
	s.policyOn(t, "all", "{apiVersion: v1, kind: ConfigMap}, {apiVersion: v1, kind: ServiceAccount}", "")
	s.put(t, "{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterPropagationPolicy, metadata: {name: skipped}, spec: {resourceSelectors: [%s]}}", named(aConfigMap, "skipped"))
	outside := []string{"kube-system", "kube-public", "karmada-system", "karmada-cluster", "karmada-es-" + pushName, "skipped-ocm", "skipped-plain"}
	s.put(t, "{apiVersion: v1, kind: Namespace, metadata: {name: skipped-ocm, labels: {open-cluster-management.io/cluster-name: skipped-ocm}}}")
	s.put(t, "{apiVersion: v1, kind: Namespace, metadata: {name: skipped-plain}}")
	for _, namespace := range outside {
		s.put(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: skipped, namespace: %s}}", namespace)
	}
	s.put(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: taken, labels: {resourcetemplate.karmada.io/claimed-by: somebody}}}")
	s.put(t, "{apiVersion: v1, kind: ServiceAccount, metadata: {name: runner}}")
	s.sees(t, pullName, kind, "runner", "metadata labels karmada.io/managed", "true")
	(&space{fleet: s.fleet, namespace: "skipped-plain"}).sees(t, pushName, aConfigMap, "skipped")
	s.witness(t)
	for _, binding := range []string{"kube-root-ca.crt-configmap", "default-serviceaccount", "taken-configmap"} {
		s.never(t, onHub, aBinding, binding)
	}
	for _, namespace := range outside[:len(outside)-1] {
		(&space{fleet: s.fleet, namespace: namespace}).never(t, onHub, aBinding, "skipped-configmap")
	}
	s.never(t, pushName, aNamespace, "skipped-ocm")
	s.never(t, pullName, aNamespace, "skipped-ocm")
	s.mend(t, onHub, aConfigMap, "taken", "{metadata: {labels: {resourcetemplate.karmada.io/claimed-by: null}}}")
	s.sees(t, pushName, aConfigMap, "taken")
}

// testDependentOverrides: a policy waits for the overrides it names.
func testDependentOverrides(t *testing.T, s *space) {
	s.policyOn(t, "all", named(aConfigMap, "settings"), "dependentOverrides: [tint]")
	s.put(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}")
	s.witness(t)
	s.never(t, onHub, aBinding, "settings-configmap")
	s.put(t, `{apiVersion: policy.karmada.io/v1alpha1, kind: OverridePolicy, metadata: {name: tint}, spec: {resourceSelectors: [%s],
		overrideRules: [{overriders: {annotationsOverrider: [{operator: add, value: {tint: blue}}]}}]}}`, named(aConfigMap, "settings"))
	s.sees(t, pushName, aConfigMap, "settings", "metadata annotations tint", "blue")
	s.sees(t, pullName, aConfigMap, "settings", "metadata annotations tint", "blue")
}

// testDependentWideOverrides: a policy of all namespaces waits for overrides of all
// namespaces, for each that it names; one of a namespace is none of them.
func testDependentWideOverrides(t *testing.T, s *space) {
	const claim = "metadata annotations clusterpropagationpolicy.karmada.io/name"
	names := map[string]string{pushName: "dependent-wide-first", pullName: "dependent-wide-second"}
	tint := func(kind, name string) {
		s.put(t, `{apiVersion: policy.karmada.io/v1alpha1, kind: %s, metadata: {name: %[2]s}, spec: {resourceSelectors: [{apiVersion: v1, kind: ConfigMap, namespace: %[3]s, name: settings}],
			overrideRules: [{overriders: {annotationsOverrider: [{operator: add, value: {%[2]s: %[1]s}}]}}]}}`, kind, name, s.namespace)
	}
	s.put(t, `{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterPropagationPolicy, metadata: {name: dependent-wide}, spec: {dependentOverrides: [%s, %s],
		resourceSelectors: [{apiVersion: v1, kind: ConfigMap, namespace: %s, name: settings}]}}`, names[pushName], names[pullName], s.namespace)
	s.put(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}")
	waits := func() {
		s.awaitTold(t, "ApplyPolicyFailed", "settings")
		s.witness(t)
		s.never(t, onHub, aBinding, "settings-configmap")
		s.sees(t, onHub, aConfigMap, "settings", claim, "")
	}
	tint("OverridePolicy", names[pushName])
	waits()
	tint("ClusterOverridePolicy", names[pushName])
	waits()
	tint("ClusterOverridePolicy", names[pullName])
	s.sees(t, onHub, aBinding, "settings-configmap", claim, "dependent-wide")
	for cluster := range s.members() {
		s.sees(t, cluster, aConfigMap, "settings", "metadata annotations "+names[pushName], "OverridePolicy", "metadata annotations "+names[pullName], "ClusterOverridePolicy")
	}
	s.awaitTold(t, "ApplyPolicySucceed", "settings")
}

// testDependentKinds: what a workload refers to goes along with it, and no more;
// what has a policy of its own keeps what that says.
func testDependentKinds(t *testing.T, s *space) {
	dependents := map[string]string{"keys": "v1 Secret", "pull": "v1 Secret", "projected": "v1 Secret", "mounted": aConfigMap, "own": aConfigMap, "runner": "v1 ServiceAccount"}
	for name, kind := range dependents {
		version, kind, _ := strings.Cut(kind, " ")
		s.put(t, "{apiVersion: %s, kind: %s, metadata: {name: %s}}", version, kind, name)
	}
	s.put(t, "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: disk}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}")
	dependents["disk"] = "v1 PersistentVolumeClaim"
	s.put(t, "{apiVersion: v1, kind: Secret, metadata: {name: unasked}}")
	s.policyOn(t, "own", named(aConfigMap, "own"), "placement: {clusterAffinity: {clusterNames: [cluster1]}}")
	s.sees(t, pushName, aConfigMap, "own")
	s.put(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {
		serviceAccountName: runner, imagePullSecrets: [{name: pull}],
		containers: [{name: web, image: web, env: [{name: A, valueFrom: {secretKeyRef: {name: keys, key: a}}}], envFrom: [{configMapRef: {name: own}}]}],
		volumes: [{name: a, configMap: {name: mounted}}, {name: b, persistentVolumeClaim: {claimName: disk}}, {name: c, projected: {sources: [{secret: {name: projected}}]}}]}}}}`)
	s.policyOn(t, "web", named(aDeployment, "web"), "propagateDeps: true, placement: {clusterAffinity: {clusterNames: [cluster2]}}")
	for name, kind := range dependents {
		s.sees(t, pullName, kind, name, "metadata labels karmada.io/managed", "true")
	}
	s.sees(t, onHub, aBinding, "own-configmap", "spec requiredBy 0 name", "web-deployment", "metadata annotations propagationpolicy.karmada.io/name", "own")
	s.sees(t, onHub, aBinding, "keys-secret", "spec requiredBy 0 name", "web-deployment", "spec placement", "", "metadata ownerReferences 0 kind", "Secret")
	if status, _, _ := condition(s.read(t, onHub, aBinding, "keys-secret"), "Scheduled"); status != "" {
		t.Errorf("a binding without a placement of its own says Scheduled=%s", status)
	}
	s.witness(t)
	for name, kind := range dependents {
		if name != "own" {
			s.never(t, pushName, kind, name)
		}
	}
	s.never(t, onHub, aBinding, "unasked-secret")
	s.remove(t, onHub, aDeployment, "web")
	for name, kind := range dependents {
		s.awaits(t, pullName, kind, name, "gone, or about to", func(o *unstructured.Unstructured) bool { // claims wait for a controller that no member here has
			return o == nil || o.GetDeletionTimestamp() != nil
		})
	}
	s.sees(t, pushName, aConfigMap, "own")
}

// testDependentShared: what two workloads refer to follows both, and of settings
// that contradict each other the ones that keep more win.
func testDependentShared(t *testing.T, s *space) {
	s.put(t, "{apiVersion: v1, kind: Secret, metadata: {name: shared}}")
	s.put(t, "{apiVersion: v1, kind: Secret, metadata: {name: odd}}")
	workload := func(name, secrets, cluster, settings string) {
		s.put(t, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: %s}, spec: {selector: {matchLabels: {app: a}},
			template: {metadata: {labels: {app: a}}, spec: {containers: [{name: a, image: a}], imagePullSecrets: [%s]}}}}`, name, secrets)
		s.policyOn(t, name, named(aDeployment, name), "propagateDeps: true, placement: {clusterAffinity: {clusterNames: ["+cluster+"]}}, "+settings)
	}
	workload("web", "{name: shared}, {name: odd}", pushName, "")
	workload("api", "{name: shared}", pullName, "")
	workload("own", "{name: odd}", pullName, "conflictResolution: Overwrite, preserveResourcesOnDeletion: true")
	for _, name := range []string{"shared", "odd"} {
		s.sees(t, pushName, "v1 Secret", name)
		s.sees(t, pullName, "v1 Secret", name)
	}
	s.sees(t, onHub, aBinding, "odd-secret", "spec conflictResolution", "Overwrite", "spec preserveResourcesOnDeletion", "true")
	s.awaitTold(t, "DependencyPolicyConflict", "odd-secret")
	s.remove(t, onHub, aDeployment, "web")
	s.gone(t, pushName, "v1 Secret", "shared")
	s.sees(t, onHub, aBinding, "shared-secret", "spec requiredBy 0 name", "api-deployment", "spec requiredBy 1", "")
	s.sees(t, pullName, "v1 Secret", "shared")
}

// testNamespaces: which namespaces go to the members, and with which overrides.
func testNamespaces(t *testing.T, s *space) {
	const label = "metadata labels tier"
	s.put(t, `{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterOverridePolicy, metadata: {name: namespaces}, spec: {resourceSelectors: [%s],
		overrideRules: [{targetCluster: {clusterNames: [cluster1]}, overriders: {labelsOverrider: [{operator: replace, value: {tier: gold}}]}}]}}`, named(aNamespace, "namespaces-marked"))
	s.put(t, "{apiVersion: v1, kind: Namespace, metadata: {name: namespaces-skipped, labels: {namespace.karmada.io/skip-auto-propagation: 'true'}}}")
	s.put(t, "{apiVersion: v1, kind: Namespace, metadata: {name: namespaces-marked, labels: {tier: tin}, annotations: {note: mine}}}")
	s.sees(t, pushName, aNamespace, "namespaces-marked", label, "gold", "metadata annotations note", "mine")
	s.sees(t, pullName, aNamespace, "namespaces-marked", label, "tin", "metadata annotations note", "mine")
	s.never(t, pushName, aNamespace, "namespaces-skipped")
	s.never(t, pullName, aNamespace, "namespaces-skipped")

	s.remove(t, onHub, "policy.karmada.io/v1alpha1 ClusterOverridePolicy", "namespaces")
	s.sees(t, pushName, aNamespace, "namespaces-marked", label, "tin")
	s.put(t, "{apiVersion: policy.karmada.io/v1alpha1, kind: ClusterPropagationPolicy, metadata: {name: namespaces}, spec: {resourceSelectors: [%s], placement: {clusterAffinity: {clusterNames: [cluster1]}}}}",
		named(aNamespace, "namespaces-skipped"))
	s.sees(t, pushName, aNamespace, "namespaces-skipped") // a policy may still carry it
	s.witness(t)
	s.never(t, pullName, aNamespace, "namespaces-skipped")
}

// testImpersonator: whoever may use the proxy may be impersonated in the members
// that this means, in a pull member too.
func testImpersonator(t *testing.T, s *space) {
	const kind, grant, user = aClusterRole, "karmada-impersonator", "impersonator-ann"
	mayBeUsed := func(o *unstructured.Unstructured) bool {
		rules, _, _ := unstructured.NestedSlice(o.Object, "rules")
		return slices.ContainsFunc(rules, func(rule any) bool {
			users, _, _ := unstructured.NestedStringSlice(rule.(map[string]any), "resourceNames")
			resources, _, _ := unstructured.NestedStringSlice(rule.(map[string]any), "resources")
			return slices.Contains(users, user) && slices.Contains(resources, "users")
		})
	}
	rule := func(clusters string) {
		s.put(t, `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: impersonator-proxy},
			rules: [{apiGroups: [cluster.karmada.io], resources: [clusters/proxy], verbs: [get], resourceNames: [%s]}]}`, clusters)
	}
	// An agent of Karmada names the account of the proxy; ours needs none of its own.
	s.mend(t, onHub, aCluster, pullName, "{spec: {impersonatorSecretRef: {namespace: karmada-cluster, name: cluster2-impersonator}}}")
	rule(pullName)
	s.put(t, `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: impersonator-proxy}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: impersonator-proxy},
		subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %s}]}`, user)
	s.awaits(t, pullName, kind, grant, "names the user", func(o *unstructured.Unstructured) bool { return o != nil && mayBeUsed(o) })
	s.sees(t, pullName, "rbac.authorization.k8s.io/v1 ClusterRoleBinding", grant, "subjects 0 name", grant, "subjects 0 namespace", "karmada-cluster")
	s.witness(t)
	if o := s.read(t, pushName, kind, grant); o != nil && mayBeUsed(o) {
		t.Errorf("%s lets a user be impersonated who may not use its proxy", pushName)
	}
	rule(pullName + ", " + pushName)
	s.awaits(t, pushName, kind, grant, "names the user", func(o *unstructured.Unstructured) bool { return o != nil && mayBeUsed(o) })
	s.remove(t, onHub, "rbac.authorization.k8s.io/v1 ClusterRoleBinding", "impersonator-proxy")
	for cluster := range s.members() {
		s.awaits(t, cluster, kind, grant, "names the user no more", func(o *unstructured.Unstructured) bool { return o == nil || !mayBeUsed(o) })
	}
}

// testQuota: a federated quota's parts are in the clusters, and what they report
// is in its status.
func testQuota(t *testing.T, s *space) {
	const kind, part = "policy.karmada.io/v1alpha1 FederatedResourceQuota", "v1 ResourceQuota"
	quota := func(parts string) {
		s.put(t, "{apiVersion: policy.karmada.io/v1alpha1, kind: FederatedResourceQuota, metadata: {name: limit}, spec: {overall: {cpu: '10'}, staticAssignments: [%s]}}", parts)
	}
	quota("{clusterName: cluster1, hard: {cpu: '2'}}, {clusterName: cluster2, hard: {cpu: '3'}}")
	s.sees(t, pushName, part, "limit", "spec hard cpu", "2")
	s.sees(t, pullName, part, "limit", "spec hard cpu", "3")
	s.mend(t, pushName, part, "limit", "{status: {hard: {cpu: '2'}, used: {cpu: '1'}}}", "status")
	s.mend(t, pullName, part, "limit", "{status: {hard: {cpu: '3'}, used: {cpu: 1500m}}}", "status")
	s.sees(t, onHub, kind, "limit", "status overall cpu", "10", "status overallUsed cpu", "2500m",
		"status aggregatedStatus 0 clusterName", pushName, "status aggregatedStatus 0 used cpu", "1",
		"status aggregatedStatus 1 clusterName", pullName, "status aggregatedStatus 1 hard cpu", "3")
	quota("{clusterName: cluster1, hard: {cpu: '4'}}")
	s.sees(t, pushName, part, "limit", "spec hard cpu", "4")
	s.gone(t, pullName, part, "limit")
	s.sees(t, onHub, kind, "limit", "status overallUsed cpu", "1", "status aggregatedStatus 1", "")
	s.remove(t, onHub, kind, "limit")
	s.gone(t, pushName, part, "limit")
}
