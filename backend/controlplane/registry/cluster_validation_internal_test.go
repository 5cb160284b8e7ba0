package registry

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
)

func TestValidateClusterName(t *testing.T) {
	for name, valid := range map[string]bool{
		"m1": true, strings.Repeat("a", 48): true, strings.Repeat("a", 49): false, "": false, "M1": false, "a.b": false, "-a": false, "a_b": false, "*": false,
		"rbac-generator": false, "rbac-generators": true,
	} {
		if got := len(validateClusterName(name)) == 0; got != valid {
			t.Errorf("name %q: valid is %v, want %v", name, got, valid)
		}
	}
}

func TestValidateClusterSpec(t *testing.T) {
	type spec = clusterv1alpha1.ClusterSpec
	invalid, required, duplicate := field.ErrorTypeInvalid, field.ErrorTypeRequired, field.ErrorTypeDuplicate
	taint := func(key, value string, effect corev1.TaintEffect) corev1.Taint {
		return corev1.Taint{Key: key, Value: value, Effect: effect}
	}
	for name, test := range map[string]struct {
		change func(*spec)
		path   string
		kind   field.ErrorType
	}{
		"push":                     {change: func(*spec) {}},
		"pull":                     {change: func(s *spec) { s.SyncMode = clusterv1alpha1.Pull }},
		"no mode":                  {func(s *spec) { s.SyncMode = "" }, "spec.syncMode", required},
		"other mode":               {func(s *spec) { s.SyncMode = "Both" }, "spec.syncMode", field.ErrorTypeNotSupported},
		"long id":                  {func(s *spec) { s.ID = strings.Repeat("a", 128001) }, "spec.id", field.ErrorTypeTooLong},
		"longest id":               {change: func(s *spec) { s.ID = strings.Repeat("a", 128000) }},
		"endpoint":                 {change: func(s *spec) { s.APIEndpoint = "https://192.0.2.10:6443" }},
		"endpoint with path":       {change: func(s *spec) { s.APIEndpoint = "https://proxy.example/k8s/clusters/c" }},
		"endpoint without scheme":  {func(s *spec) { s.APIEndpoint = "192.0.2.10:6443" }, "spec.apiEndpoint", invalid},
		"endpoint name with port":  {func(s *spec) { s.APIEndpoint = "member.example:6443" }, "spec.apiEndpoint", invalid},
		"endpoint with user":       {func(s *spec) { s.APIEndpoint = "https://me:secret@192.0.2.10" }, "spec.apiEndpoint", invalid},
		"endpoint with fragment":   {func(s *spec) { s.APIEndpoint = "https://192.0.2.10#x" }, "spec.apiEndpoint", invalid},
		"endpoint with query":      {func(s *spec) { s.APIEndpoint = "https://192.0.2.10?x=1" }, "spec.apiEndpoint", invalid},
		"secret":                   {change: func(s *spec) { s.SecretRef = &clusterv1alpha1.LocalSecretReference{Namespace: "a", Name: "b"} }},
		"secret without namespace": {func(s *spec) { s.SecretRef = &clusterv1alpha1.LocalSecretReference{Name: "b"} }, "spec.secretRef.namespace", required},
		"impersonator without name": {func(s *spec) { s.ImpersonatorSecretRef = &clusterv1alpha1.LocalSecretReference{Namespace: "a"} },
			"spec.impersonatorSecretRef.name", required},
		"proxy":                {change: func(s *spec) { s.ProxyURL = "socks5://me:secret@192.0.2.1:1080" }},
		"proxy of other kind":  {func(s *spec) { s.ProxyURL = "ftp://192.0.2.1" }, "spec.proxyURL", invalid},
		"proxy without scheme": {func(s *spec) { s.ProxyURL = "proxy.example:3128" }, "spec.proxyURL", invalid},
		"provider":             {func(s *spec) { s.Provider = "a b" }, "spec.provider", invalid},
		"region":               {func(s *spec) { s.Region = "eu/1" }, "spec.region", invalid},
		"zone":                 {func(s *spec) { s.Zone = "?" }, "spec.zone", invalid},
		"second zone":          {func(s *spec) { s.Zones = []string{"a", "b!"} }, "spec.zones[1]", invalid},
		"zone and zones":       {func(s *spec) { s.Zone, s.Zones = "a", []string{"b"} }, "spec.zone", field.ErrorTypeTypeInvalid},
		"taints": {change: func(s *spec) {
			s.Taints = []corev1.Taint{taint("a", "", "NoSchedule"), taint("a", "", "NoExecute"), taint("x.y/z", "v", "NoSchedule")}
		}},
		"taint key":            {func(s *spec) { s.Taints = []corev1.Taint{taint("a b", "", "NoSchedule")} }, "spec.taints[0].key", invalid},
		"taint value":          {func(s *spec) { s.Taints = []corev1.Taint{taint("a", "b c", "NoSchedule")} }, "spec.taints[0].value", invalid},
		"taint effect":         {func(s *spec) { s.Taints = []corev1.Taint{taint("a", "", "PreferNoSchedule")} }, "spec.taints[0].effect", field.ErrorTypeNotSupported},
		"taint without effect": {func(s *spec) { s.Taints = []corev1.Taint{taint("a", "", "")} }, "spec.taints[0].effect", field.ErrorTypeNotSupported},
		"taint twice":          {func(s *spec) { s.Taints = []corev1.Taint{taint("a", "1", "NoSchedule"), taint("a", "2", "NoSchedule")} }, "spec.taints[1]", duplicate},
		"default models":       {change: func(s *spec) { s.ResourceModels = defaultModels() }},
		"grade twice":          {func(s *spec) { s.ResourceModels = defaultModels(); s.ResourceModels[1].Grade = 0 }, "spec.resourceModels[1].grade", invalid},
		"range missing": {func(s *spec) {
			s.ResourceModels = defaultModels()
			s.ResourceModels[1].Ranges = s.ResourceModels[1].Ranges[:1]
		}, "spec.resourceModels[1].ranges", invalid},
		"other resource": {func(s *spec) { s.ResourceModels = defaultModels(); s.ResourceModels[1].Ranges[0].Name = "gpu" },
			"spec.resourceModels[1].ranges[0].name", invalid},
		"gap": {func(s *spec) {
			s.ResourceModels = defaultModels()
			s.ResourceModels[2].Ranges[0].Min = resource.MustParse("3")
		}, "spec.resourceModels[2].ranges[0].min", invalid},
		"first not at zero": {func(s *spec) {
			s.ResourceModels = defaultModels()
			s.ResourceModels[0].Ranges[0].Min = resource.MustParse("500m")
		}, "spec.resourceModels[0].ranges[0].min", invalid},
		"last closed": {func(s *spec) {
			s.ResourceModels = defaultModels()
			s.ResourceModels[8].Ranges[1].Max = resource.MustParse("2Ti")
		}, "spec.resourceModels[8].ranges[1].max", invalid},
		"empty range": {func(s *spec) {
			s.ResourceModels = defaultModels()
			s.ResourceModels[8].Ranges[1].Max = s.ResourceModels[8].Ranges[1].Min
		}, "spec.resourceModels[8].ranges[1]", invalid},
	} {
		t.Run(name, func(t *testing.T) {
			s := spec{SyncMode: clusterv1alpha1.Push}
			test.change(&s)
			errs := validateClusterSpec(&s, field.NewPath("spec"))
			if aggregate := errs.ToAggregate(); aggregate != nil && strings.Contains(aggregate.Error(), "secret@") {
				t.Errorf("the error shows a password: %v", errs)
			}
			if test.path == "" {
				if len(errs) > 0 {
					t.Fatalf("valid, but got %v", errs)
				}
				return
			}
			for _, err := range errs {
				if err.Field == test.path && err.Type == test.kind {
					return
				}
			}
			t.Errorf("want %s at %s, got %v", test.kind, test.path, errs)
		})
	}
}
