package cluster

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
)

func TestReadinessTaints(t *testing.T) {
	now, earlier := metav1.NewTime(time.Unix(1000, 0)), metav1.NewTime(time.Unix(500, 0))
	old := corev1.Taint{Key: clusterv1alpha1.TaintClusterNotReady, Effect: corev1.TaintEffectNoSchedule, TimeAdded: &earlier}
	notReady := corev1.Taint{Key: clusterv1alpha1.TaintClusterNotReady, Effect: corev1.TaintEffectNoSchedule, TimeAdded: &now}
	unreachable := corev1.Taint{Key: clusterv1alpha1.TaintClusterUnreachable, Effect: corev1.TaintEffectNoSchedule, TimeAdded: &now}
	cordon := corev1.Taint{Key: clusterv1alpha1.TaintClusterUnschedulable, Effect: corev1.TaintEffectNoSchedule}
	evicting := corev1.Taint{Key: clusterv1alpha1.TaintClusterNotReady, Effect: corev1.TaintEffectNoExecute} // a user's
	ready := func(status metav1.ConditionStatus) *metav1.Condition { return &metav1.Condition{Status: status} }
	tests := map[string]struct {
		current []corev1.Taint
		ready   *metav1.Condition
		want    []corev1.Taint
	}{
		"new":                       {nil, nil, []corev1.Taint{notReady}},
		"not ready":                 {nil, ready(metav1.ConditionFalse), []corev1.Taint{notReady}},
		"unknown":                   {[]corev1.Taint{notReady}, ready(metav1.ConditionUnknown), []corev1.Taint{unreachable}},
		"ready":                     {[]corev1.Taint{unreachable}, ready(metav1.ConditionTrue), nil},
		"one that stays":            {[]corev1.Taint{old}, ready(metav1.ConditionFalse), []corev1.Taint{old}},
		"both":                      {[]corev1.Taint{unreachable, notReady}, ready(metav1.ConditionTrue), nil},
		"twice":                     {[]corev1.Taint{notReady, notReady}, nil, []corev1.Taint{notReady}},
		"users' taints stay":        {[]corev1.Taint{cordon, notReady, evicting}, ready(metav1.ConditionTrue), []corev1.Taint{cordon, evicting}},
		"the order stays":           {[]corev1.Taint{notReady, cordon}, nil, []corev1.Taint{notReady, cordon}},
		"a user's does not replace": {[]corev1.Taint{evicting}, nil, []corev1.Taint{evicting, notReady}},
	}
	for name, test := range tests {
		if diff := cmp.Diff(test.want, readinessTaints(test.current, test.ready, now)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestOwnsSecret(t *testing.T) {
	c := &clusterv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "m1", UID: "u1"}}
	secret := func(name string, label bool, owner string) *corev1.Secret {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if label {
			s.Labels = map[string]string{"karmada.io/system": "true"}
		}
		if owner != "" {
			s.OwnerReferences = []metav1.OwnerReference{{Kind: "Cluster", UID: types.UID(owner)}}
		}
		return s
	}
	tests := map[string]struct {
		secret *corev1.Secret
		want   bool
	}{
		"its own, by any name":            {secret("any", false, "u1"), true},
		"another cluster's":               {secret("m1", true, "u2"), false},
		"made by a join":                  {secret("m1", true, ""), true},
		"its impersonator":                {secret("m1-impersonator", true, ""), true},
		"merely named by the spec":        {secret("bootstrap-token-abcdef", true, ""), false},
		"of the right name, not by tools": {secret("m1", false, ""), false},
	}
	for name, test := range tests {
		if got := ownsSecret(c, test.secret); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
