package propagation

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/backend/apis"
	policyv1alpha1 "muster.dev/muster/backend/apis/policy/v1alpha1"
	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
	"muster.dev/muster/backend/propagation/work"
)

// quotaTask is the part of a quota that one cluster is assigned.
func quotaTask(quota *policyv1alpha1.FederatedResourceQuota, assignment *policyv1alpha1.StaticClusterAssignment) (*work.Task, error) {
	object, err := work.Unstructured(&corev1.ResourceQuota{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ResourceQuota"},
		ObjectMeta: metav1.ObjectMeta{Namespace: quota.Namespace, Name: quota.Name},
		Spec:       corev1.ResourceQuotaSpec{Hard: assignment.Hard},
	})
	if err != nil {
		return nil, fmt.Errorf("encode the quota of cluster %s: %w", assignment.ClusterName, err)
	}
	delete(object.Object, "status")
	form, err := work.NewForm(object, work.SystemMarks(""))
	if err != nil {
		return nil, err
	}
	return &work.Task{Cluster: assignment.ClusterName, Form: form, Labels: map[string]string{
		policyv1alpha1.FederatedResourceQuotaNamespaceLabel: quota.Namespace,
		policyv1alpha1.FederatedResourceQuotaNameLabel:      quota.Name,
	}}, nil
}

// quotaStatus is what the clusters report of their parts. What is used overall is
// what the bindings of the namespace ask for where quotas are enforced, for that is
// what they are judged by; else, with demand nil, the sum of the reports. It is told
// for the resources that are bounded overall; bindings ask for some of them. An error names a report that cannot be
// read; the others count.
func quotaStatus(quota *policyv1alpha1.FederatedResourceQuota, works []workv1alpha1.Work, demand corev1.ResourceList) (policyv1alpha1.FederatedResourceQuotaStatus, error) {
	status := policyv1alpha1.FederatedResourceQuotaStatus{Overall: quota.Spec.Overall, OverallUsed: corev1.ResourceList{}}
	for name := range quota.Spec.Overall {
		if asked, ok := demand[name]; ok || demand == nil {
			status.OverallUsed[name] = asked
		}
	}
	var unread error
	for i := range works {
		cluster, ok := apis.ClusterOfExecutionSpace(works[i].Namespace)
		assigned := slices.ContainsFunc(quota.Spec.StaticAssignments, func(a policyv1alpha1.StaticClusterAssignment) bool { return a.ClusterName == cluster })
		reports := works[i].Status.ManifestStatuses
		if !ok || !assigned || works[i].DeletionTimestamp != nil || len(reports) == 0 || reports[0].Status == nil {
			continue
		}
		var used corev1.ResourceQuotaStatus
		if err := json.Unmarshal(reports[0].Status.Raw, &used); err != nil {
			unread = fmt.Errorf("read what cluster %s uses: %w", cluster, err)
			continue
		}
		status.AggregatedStatus = append(status.AggregatedStatus, policyv1alpha1.ClusterQuotaStatus{ResourceQuotaStatus: used, ClusterName: cluster})
		for name, amount := range used.Used {
			if sum, bounded := status.OverallUsed[name]; bounded && demand == nil {
				sum.Add(amount)
				status.OverallUsed[name] = sum
			}
		}
	}
	slices.SortFunc(status.AggregatedStatus, byCluster(func(s policyv1alpha1.ClusterQuotaStatus) string { return s.ClusterName }))
	return status, unread
}

// sameQuotaStatus compares amounts, not how they are written.
func sameQuotaStatus(a, b *policyv1alpha1.FederatedResourceQuotaStatus) bool {
	return equality.Semantic.DeepEqual(a, b)
}
