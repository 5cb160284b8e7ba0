package deploy_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apivalidation "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/deploy"
)

// ocmContract is section 1.0 of the OCM contract, and what the recordings in kubectl-columns show.
var ocmContract = map[string]map[string]crdFacts{
	"managedclusters.cluster.open-cluster-management.io": {"v1": {"ManagedCluster", "managedcluster", []string{"mcl", "mcls"}, cluster, true, false, []string{
		"Hub Accepted .spec.hubAcceptsClient boolean", "Managed Cluster URLs .spec.managedClusterClientConfigs[*].url string",
		`Joined .status.conditions[?(@.type=="ManagedClusterJoined")].status string`,
		`Available .status.conditions[?(@.type=="ManagedClusterConditionAvailable")].status string`, ageColumn}, nil}},
	"managedclustersets.cluster.open-cluster-management.io": {"v1beta2": {"ManagedClusterSet", "managedclusterset", []string{"mclset", "mclsets"}, cluster, true, false,
		[]string{`Empty .status.conditions[?(@.type=="ClusterSetEmpty")].status string`, ageColumn}, nil}},
	"managedclustersetbindings.cluster.open-cluster-management.io": {"v1beta2": {"ManagedClusterSetBinding", "managedclustersetbinding",
		[]string{"mclsetbinding", "mclsetbindings"}, namespaced, true, false, nil, nil}},
	"placements.cluster.open-cluster-management.io": {"v1beta1": {"Placement", "placement", nil, namespaced, true, false, []string{
		`Succeeded .status.conditions[?(@.type=="PlacementSatisfied")].status string`, `Reason .status.conditions[?(@.type=="PlacementSatisfied")].reason string`,
		"SelectedClusters .status.numberOfSelectedClusters integer"}, spec}},
	"placementdecisions.cluster.open-cluster-management.io":   {"v1beta1": {"PlacementDecision", "placementdecision", nil, namespaced, true, false, nil, nil}},
	"addonplacementscores.cluster.open-cluster-management.io": {"v1alpha1": {"AddOnPlacementScore", "addonplacementscore", nil, namespaced, true, false, nil, nil}},
	"clusterclaims.cluster.open-cluster-management.io":        {"v1alpha1": {"ClusterClaim", "clusterclaim", nil, cluster, false, false, nil, nil}},
	"manifestworks.work.open-cluster-management.io":           {"v1": {"ManifestWork", "manifestwork", nil, namespaced, true, false, nil, nil}},
	"appliedmanifestworks.work.open-cluster-management.io":    {"v1": {"AppliedManifestWork", "appliedmanifestwork", nil, cluster, true, false, nil, nil}},
	"manifestworkreplicasets.work.open-cluster-management.io": {"v1alpha1": {"ManifestWorkReplicaSet", "manifestworkreplicaset", []string{"mwrs"}, namespaced, true, false, []string{
		`Placement .status.conditions[?(@.type=="PlacementVerified")].reason string`, `Found .status.conditions[?(@.type=="PlacementVerified")].status string`,
		`ManifestWorks .status.conditions[?(@.type=="ManifestworkApplied")].reason string`,
		`Applied .status.conditions[?(@.type=="ManifestworkApplied")].status string`}, nil}},
	"managedclusteraddons.addon.open-cluster-management.io": both(crdFacts{"ManagedClusterAddOn", "managedclusteraddon", []string{"mca", "mcas"}, namespaced, true, false, []string{
		`Available .status.conditions[?(@.type=="Available")].status string`, `Degraded .status.conditions[?(@.type=="Degraded")].status string`,
		`Progressing .status.conditions[?(@.type=="Progressing")].status string`}, nil}),
	"clustermanagementaddons.addon.open-cluster-management.io": {
		"v1alpha1": {"ClusterManagementAddOn", "clustermanagementaddon", []string{"cma", "cmas"}, cluster, true, false,
			[]string{"DISPLAY NAME .spec.addOnMeta.displayName string", "CRD NAME .spec.addOnConfiguration.crdName string"}, nil},
		"v1beta1": {"ClusterManagementAddOn", "clustermanagementaddon", []string{"cma", "cmas"}, cluster, true, false,
			[]string{"DISPLAY NAME .spec.addOnMeta.displayName string"}, nil},
	},
	"addondeploymentconfigs.addon.open-cluster-management.io": both(crdFacts{"AddOnDeploymentConfig", "addondeploymentconfig", nil, namespaced, false, false, nil, spec}),
	"addontemplates.addon.open-cluster-management.io":         both(crdFacts{"AddOnTemplate", "addontemplate", nil, cluster, false, false, nil, spec}),
	"clustermanagers.operator.open-cluster-management.io":     {"v1": {"ClusterManager", "clustermanager", nil, cluster, true, false, nil, nil}},
	"klusterlets.operator.open-cluster-management.io":         {"v1": {"Klusterlet", "klusterlet", nil, cluster, true, false, nil, nil}},
}

const ageColumn = "Age .metadata.creationTimestamp date"

// both is for the add-on kinds whose versions look the same.
func both(f crdFacts) map[string]crdFacts {
	return map[string]crdFacts{"v1alpha1": f, "v1beta1": f}
}

func readDefinitions(t *testing.T, files fs.FS) map[string]apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]apiextensionsv1.CustomResourceDefinition{}
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(data, &crd); err != nil {
			t.Fatalf("decode %s: %v", name, err)
		}
		out[crd.Name] = crd
	}
	return out
}

func ocmDefinitions(t *testing.T) map[string]apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	all := map[string]apiextensionsv1.CustomResourceDefinition{}
	for _, files := range []fs.FS{deploy.HubCRDs(), deploy.MemberCRDs(), deploy.OperatorCRDs()} {
		for name, crd := range readDefinitions(t, files) {
			all[name] = crd
		}
	}
	return all
}

func TestOCMDefinitionsMatchTheContract(t *testing.T) {
	got := map[string]map[string]crdFacts{}
	for name, crd := range ocmDefinitions(t) {
		got[name] = map[string]crdFacts{}
		for i, version := range crd.Spec.Versions {
			if !version.Served || version.Storage != (i == 0) {
				t.Errorf("%s %s: want every version served and the first one stored", name, version.Name)
			}
			got[name][version.Name] = facts(crd, version)
		}
		if crd.Spec.Conversion != nil && crd.Spec.Conversion.Strategy != apiextensionsv1.NoneConverter {
			t.Errorf("%s is converted by %s, want None", name, crd.Spec.Conversion.Strategy)
		}
		if err := apivalidation.ValidateCustomResourceDefinition(context.Background(), internal(t, crd)); len(err) > 0 {
			t.Errorf("%s is not valid: %v", name, err.ToAggregate())
		}
	}
	if diff := cmp.Diff(ocmContract, got); diff != "" {
		t.Errorf("definitions differ from the contract (-want +got):\n%s", diff)
	}
}

func internal(t *testing.T, crd apiextensionsv1.CustomResourceDefinition) *apiextensions.CustomResourceDefinition {
	t.Helper()
	crd = *crd.DeepCopy()
	apiextensionsv1.SetDefaults_CustomResourceDefinition(&crd)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&crd.Spec)
	out := &apiextensions.CustomResourceDefinition{}
	if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(&crd, out, nil); err != nil {
		t.Fatal(err)
	}
	out.Status.StoredVersions = []string{crd.Spec.Versions[0].Name}
	return out
}

func TestHubServesBothDialects(t *testing.T) {
	all := readDefinitions(t, deploy.CRDs())
	if want := len(contract) + 13; len(all) != want { // a hub's twelve kinds, and ClusterManager
		t.Errorf("the hub installs %d definitions, want %d", len(all), want)
	}
	for name := range all {
		_, karmada := contract[name]
		_, ocm := ocmContract[name]
		if !karmada && !ocm {
			t.Errorf("the hub installs %s, which no contract knows", name)
		}
	}
}

// TestRecordedCreatesAreStoredAlike sends what clients created in the recordings through our schemas: nothing may be pruned or refused,
// and the defaults must be those that the real hub stored. What webhooks changed there is not the schema's business.
func TestRecordedCreatesAreStoredAlike(t *testing.T) {
	definitions := ocmDefinitions(t)
	file, err := os.Open("testdata/ocm_creates.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct {
			Source       string
			Sent, Stored json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		sent, stored := object(t, line.Sent), object(t, line.Stored)
		kind, _ := sent["kind"].(string)
		schema, validator := schemaOf(t, definitions, kind)
		if unknown := pruning.PruneWithOptions(sent, schema, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}); len(unknown) > 0 {
			t.Errorf("%s: %s: unknown fields %v", line.Source, kind, unknown)
		}
		defaulting.PruneNonNullableNullsWithoutDefaults(sent, schema)
		defaulting.Default(sent, schema)
		if errs := validation.ValidateCustomResource(nil, sent, validator); len(errs) > 0 {
			t.Errorf("%s: %s is refused: %v", line.Source, kind, errs.ToAggregate())
		}
		if diff := cmp.Diff(withoutAdmission(stored), withoutAdmission(sent)); diff != "" {
			t.Errorf("%s: %s is stored differently (-recorded +ours):\n%s", line.Source, kind, diff)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

func object(t *testing.T, document []byte) map[string]any {
	t.Helper()
	var out map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(document, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// withoutAdmission drops what the recorded hub's webhook set on clusters.
func withoutAdmission(object map[string]any) map[string]any {
	spec, _ := object["spec"].(map[string]any)
	if object["kind"] != "ManagedCluster" {
		return object
	}
	if spec["hubAcceptsClient"] == false {
		delete(spec, "hubAcceptsClient")
	}
	taints, _ := spec["taints"].([]any)
	for _, taint := range taints {
		delete(taint.(map[string]any), "timeAdded")
	}
	return object
}

func schemaOf(t *testing.T, definitions map[string]apiextensionsv1.CustomResourceDefinition, kind string) (*structuralschema.Structural, validation.SchemaValidator) {
	t.Helper()
	for _, crd := range definitions {
		if crd.Spec.Names.Kind != kind {
			continue
		}
		i := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage })
		props := &apiextensions.JSONSchemaProps{}
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(crd.Spec.Versions[i].Schema.OpenAPIV3Schema, props, nil); err != nil {
			t.Fatal(err)
		}
		schema, err := structuralschema.NewStructural(props)
		if err != nil {
			t.Fatal(err)
		}
		validator, _, err := validation.NewSchemaValidator(props)
		if err != nil {
			t.Fatal(err)
		}
		return schema, validator
	}
	t.Fatalf("no definition of %s", kind)
	return nil, nil
}

// clusteradm tells the image of an operator by the name of its container.
func TestOperatorsAreFoundByClients(t *testing.T) {
	t.Parallel()
	for file, want := range map[string][2]string{
		"operator/install/hub.yaml": {"cluster-manager", "registration-operator"}, "operator/install/spoke.yaml": {"klusterlet", "klusterlet"},
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, document := range bytes.Split(text, []byte("\n---\n")) {
			d := &appsv1.Deployment{}
			if err := yaml.Unmarshal(document, d); err == nil && d.Kind == "Deployment" {
				found = append(found, d.Namespace, d.Name, d.Spec.Template.Spec.Containers[0].Name)
			}
		}
		if diff := cmp.Diff([]string{"open-cluster-management", want[0], want[1]}, found); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file, diff)
		}
	}
}
