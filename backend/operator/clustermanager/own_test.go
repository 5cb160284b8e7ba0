package clustermanager_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ocmoperatorv1 "muster.dev/muster/backend/apis/ocm/operator/v1"
	"muster.dev/muster/backend/operator/clustermanager"
	"muster.dev/muster/backend/operator/operatortest"
)

// The hub that nobody installed: its ClusterManager is there from the start, says what it does not act on, names what clients look for, and
// may be deleted.
func TestOwnClusterManager(t *testing.T) {
	p := planes.management
	settled(t, p)
	p.Operate(t, func(_ context.Context, m ctrl.Manager) error { return clustermanager.SetupOwn(m, "v9") })
	operatortest.Eventually(t, "described", conditions(p, clustermanager.OwnName, "Applied=True/ClusterManagerApplied", "Progressing=False/ClusterManagerUpToDate",
		"HubRegistrationDegraded=False/RegistrationFunctional", "HubPlacementDegraded=False/PlacementFunctional", "ValidFeatureGates=True", "NotSupported=False"))

	cm := &ocmoperatorv1.ClusterManager{ObjectMeta: metav1.ObjectMeta{Name: clustermanager.OwnName}}
	if err := p.API.Get(t.Context(), client.ObjectKeyFromObject(cm), cm); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"cluster-manager-registration-controller", "cluster-manager-placement-controller", "cluster-manager-addon-manager-controller",
		"cluster-manager-registration-webhook", "cluster-manager-work-webhook",
		"managedclusters.cluster.open-cluster-management.io",
	} {
		if !slices.ContainsFunc(cm.Status.RelatedResources, func(r ocmoperatorv1.RelatedResourceMeta) bool { return r.Name == name }) {
			t.Errorf("related resources do not name %s, which clusteradm looks for", name)
		}
	}
	note := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ocmoperatorv1.OperatorNamespace, Name: "cluster-manager-placement-controller"}}
	if err := p.API.Get(t.Context(), client.ObjectKeyFromObject(note), note); err != nil {
		t.Fatal(err)
	}
	if want := "the process that serves this API, muster v9"; note.Data["runs-in"] != want {
		t.Errorf("the note says %q, want %q", note.Data["runs-in"], want)
	}

	cm.Spec.RegistrationConfiguration = &ocmoperatorv1.RegistrationHubConfiguration{
		AutoApproveUsers: []string{"jane"}, FeatureGates: []ocmoperatorv1.FeatureGate{
			{Feature: "ManagedClusterAutoApproval", Mode: ocmoperatorv1.FeatureEnable}, {Feature: "Teleportation", Mode: ocmoperatorv1.FeatureEnable},
		},
	}
	cm.Spec.NodePlacement.NodeSelector = map[string]string{"disk": "ssd"}
	cm.Spec.WorkImagePullSpec = "example.test/work:1"
	if err := p.API.Update(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	operatortest.Eventually(t, "says what it does not do", func(ctx context.Context) error {
		if err := conditions(p, cm.Name, "NotSupported=True", "ValidFeatureGates=False")(ctx); err != nil {
			return err
		}
		if err := p.API.Get(ctx, client.ObjectKeyFromObject(cm), cm); err != nil {
			return err
		}
		found := meta.FindStatusCondition(cm.Status.Conditions, clustermanager.ConditionNotSupported)
		for _, word := range []string{"--auto-approve-users", "nodePlacement", "no image"} {
			if !strings.Contains(found.Message, word) {
				return fmt.Errorf("%q is not said: %s", word, found.Message)
			}
		}
		return nil
	})

	other := &ocmoperatorv1.ClusterManager{ObjectMeta: metav1.ObjectMeta{Name: "another"}}
	if err := p.API.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	operatortest.Eventually(t, "puts no other hub anywhere", conditions(p, other.Name, "Applied=False"))
	for _, object := range []client.Object{other, cm} {
		if err := p.API.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
		p.Gone(t, object)
	}
	p.Gone(t, note)
}
