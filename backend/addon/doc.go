// Package addon keeps the add-ons of managed clusters readable in both versions of their API (contract ocm.md section 1.6).
//
// The two versions are served from one stored object without conversion: what one has and the other has not is kept. An add-on's manager
// may write one version and the cluster's agent read the other, so the controller says what was written in the other version's words, too:
//
//	v1alpha1                                v1beta1
//	spec.installNamespace                   annotation addon.open-cluster-management.io/v1alpha1-install-namespace
//	registrations[].signerName, subject     registrations[].type with kubeClient or customSigner
//	kubeClientDriver                        registrations[].kubeClient.driver
//
// We own AnnotationInstallNamespace, by which a change of one side is told from one of the other. We write no condition.
package addon
