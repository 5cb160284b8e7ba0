package deploy_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/deploy"
)

// crdFacts are what clients can see of a definition (contract section 1).
type crdFacts struct {
	Kind, Singular string
	Short          []string
	Scope          apiextensionsv1.ResourceScope
	Status, Listed bool // Listed means in the category karmada-io
	Columns        []string
	Required       []string
}

const (
	namespaced = apiextensionsv1.NamespaceScoped
	cluster    = apiextensionsv1.ClusterScoped
)

var (
	spec        = []string{"spec"}
	age         = "AGE .metadata.creationTimestamp date"
	propagation = []string{"CONFLICT-RESOLUTION .spec.conflictResolution string", "PRIORITY .spec.priority string", age}
	reference   = []string{"REFERENCE-KIND .spec.scaleTargetRef.kind string", "REFERENCE-NAME .spec.scaleTargetRef.name string"}
)

var contract = map[string]crdFacts{
	"propagationpolicies.policy.karmada.io":        {"PropagationPolicy", "propagationpolicy", []string{"pp"}, namespaced, false, true, propagation, spec},
	"clusterpropagationpolicies.policy.karmada.io": {"ClusterPropagationPolicy", "clusterpropagationpolicy", []string{"cpp"}, cluster, false, true, propagation, spec},
	"overridepolicies.policy.karmada.io":           {"OverridePolicy", "overridepolicy", []string{"op"}, namespaced, false, true, nil, spec},
	"clusteroverridepolicies.policy.karmada.io":    {"ClusterOverridePolicy", "clusteroverridepolicy", []string{"cop"}, cluster, false, true, nil, spec},
	"federatedresourcequotas.policy.karmada.io": {"FederatedResourceQuota", "federatedresourcequota", nil, namespaced, true, true,
		[]string{"OVERALL .status.overall string", "OVERALL_USED .status.overallUsed string"}, spec},
	"clustertaintpolicies.policy.karmada.io": {"ClusterTaintPolicy", "clustertaintpolicy", nil, cluster, false, false, nil, spec},
	"resourceinterpretercustomizations.config.karmada.io": {"ResourceInterpreterCustomization", "resourceinterpretercustomization", []string{"ric"}, cluster, false, true,
		[]string{"TARGET-API-VERSION .spec.target.apiVersion string", "TARGET-KIND .spec.target.kind string", age}, spec},
	"resourceinterpreterwebhookconfigurations.config.karmada.io": {"ResourceInterpreterWebhookConfiguration", "resourceinterpreterwebhookconfiguration", nil, cluster, false, true, nil, []string{"webhooks"}},
	"multiclusterservices.networking.karmada.io":                 {"MultiClusterService", "multiclusterservice", []string{"mcs"}, namespaced, true, true, nil, spec},
	"multiclusteringresses.networking.karmada.io":                {"MultiClusterIngress", "multiclusteringress", []string{"mci"}, namespaced, true, true, nil, nil},
	"federatedhpas.autoscaling.karmada.io": {"FederatedHPA", "federatedhpa", []string{"fhpa"}, namespaced, true, true, append(append([]string{}, reference...),
		"MINPODS .spec.minReplicas integer", "MAXPODS .spec.maxReplicas integer", "REPLICAS .status.currentReplicas integer", age), spec},
	"cronfederatedhpas.autoscaling.karmada.io": {"CronFederatedHPA", "cronfederatedhpa", []string{"cronfhpa"}, namespaced, true, true, append(append([]string{}, reference...), age), spec},
	"workloadrebalancers.apps.karmada.io":      {"WorkloadRebalancer", "workloadrebalancer", nil, cluster, true, false, nil, spec},
	"remedies.remedy.karmada.io":               {"Remedy", "remedy", nil, cluster, false, true, nil, spec},
	"serviceexports.multicluster.x-k8s.io":     {"ServiceExport", "serviceexport", []string{"svcex"}, namespaced, true, false, []string{"Age .metadata.creationTimestamp date"}, nil},
	"serviceimports.multicluster.x-k8s.io": {"ServiceImport", "serviceimport", []string{"svcim"}, namespaced, true, false,
		[]string{"Type .spec.type string", "IP .spec.ips string", "Age .metadata.creationTimestamp date"}, nil},
}

func TestCRDsMatchTheContract(t *testing.T) {
	names, err := fs.Glob(deploy.KarmadaCRDs(), "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]crdFacts{}
	for _, name := range names {
		data, err := fs.ReadFile(deploy.KarmadaCRDs(), name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), "x-kubernetes-validations") {
			t.Errorf("%s carries CEL rules, which no Karmada definition does", name)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(data, &crd); err != nil {
			t.Fatalf("decode %s: %v", name, err)
		}
		version := crd.Spec.Versions[0]
		if len(crd.Spec.Versions) != 1 || version.Name != "v1alpha1" || !version.Served || !version.Storage {
			t.Errorf("%s: want the one version v1alpha1, served and stored", name)
		}
		got[crd.Name] = facts(crd, version)
	}
	if diff := cmp.Diff(contract, got); diff != "" {
		t.Errorf("definitions differ from the contract (-want +got):\n%s", diff)
	}
}

func facts(crd apiextensionsv1.CustomResourceDefinition, version apiextensionsv1.CustomResourceDefinitionVersion) crdFacts {
	f := crdFacts{Kind: crd.Spec.Names.Kind, Singular: crd.Spec.Names.Singular, Short: crd.Spec.Names.ShortNames, Scope: crd.Spec.Scope, Required: version.Schema.OpenAPIV3Schema.Required}
	f.Status = version.Subresources != nil && version.Subresources.Status != nil
	f.Listed = len(crd.Spec.Names.Categories) == 1 && crd.Spec.Names.Categories[0] == "karmada-io"
	for _, column := range version.AdditionalPrinterColumns {
		f.Columns = append(f.Columns, column.Name+" "+column.JSONPath+" "+column.Type)
	}
	return f
}

func TestPolicyDefaultsAreInTheSchema(t *testing.T) {
	data, err := fs.ReadFile(deploy.KarmadaCRDs(), "policy.karmada.io_propagationpolicies.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(data, &crd); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"spec.priority": "0", "spec.preemption": `"Never"`, "spec.schedulerName": `"default-scheduler"`, "spec.conflictResolution": `"Abort"`,
		"spec.placement.replicaScheduling.replicaSchedulingType":             `"Divided"`,
		"spec.failover.application.decisionConditions.tolerationSeconds":     "300",
		"spec.failover.application.purgeMode":                                `"Gracefully"`,
		"spec.failover.cluster.purgeMode":                                    `"Gracefully"`,
		"spec.placement.clusterAffinity.exclude":                             "",
		"spec.failover.application.gracePeriodSeconds":                       "",
		"spec.placement.replicaScheduling.replicaDivisionPreference":         "",
		"spec.placement.replicaScheduling.weightPreference.staticWeightList": "",
	}
	for path, value := range want {
		node := *crd.Spec.Versions[0].Schema.OpenAPIV3Schema
		for _, step := range strings.Split(path, ".") {
			next, ok := node.Properties[step]
			if !ok {
				t.Fatalf("%s: no property %s", path, step)
			}
			node = next
		}
		var got string
		if node.Default != nil {
			got = string(node.Default.Raw)
		}
		if got != value {
			t.Errorf("%s: default %s, want %s", path, got, value)
		}
	}
}
