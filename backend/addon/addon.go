package addon

import (
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"

	ocmaddonv1alpha1 "muster.dev/muster/backend/apis/ocm/addon/v1alpha1"
	ocmaddonv1beta1 "muster.dev/muster/backend/apis/ocm/addon/v1beta1"
)

const (
	// AnnotationInstallNamespace is the namespace that both versions named last.
	AnnotationInstallNamespace = "muster.dev/install-namespace"
	// defaultNamespace is where add-ons are installed that do not say where.
	defaultNamespace = "open-cluster-management-agent-addon"
)

// complete says in each version's words what the add-on says in the other's.
func complete(addon *ocmaddonv1alpha1.ManagedClusterAddOn) {
	completeNamespace(addon)
	registrations := addon.Status.Registrations
	for i := range registrations {
		completeRegistration(&registrations[i])
	}
	completeDriver(&addon.Status)
}

// completeNamespace brings the namespace of one version to the other: from where it
// was changed.
func completeNamespace(addon *ocmaddonv1alpha1.ManagedClusterAddOn) {
	older, newer := addon.Spec.InstallNamespace, addon.Annotations[ocmaddonv1beta1.InstallNamespaceAnnotation]
	agreed := addon.Annotations[AnnotationInstallNamespace]
	switch {
	case newer == "" && (older == "" || older == defaultNamespace):
		return
	case older == newer:
	case newer != "" && newer != agreed:
		older = newer
	default:
		newer = older
	}
	addon.Spec.InstallNamespace = older
	if addon.Annotations == nil {
		addon.Annotations = map[string]string{}
	}
	addon.Annotations[ocmaddonv1beta1.InstallNamespaceAnnotation] = newer
	addon.Annotations[AnnotationInstallNamespace] = newer
}

// completeRegistration adds the words of the version that did not write it. A
// program that writes one version leaves the other's words out, or leaves all as it is.
func completeRegistration(r *ocmaddonv1alpha1.RegistrationConfig) {
	switch {
	case r.Type == "" && r.SignerName == certificatesv1.KubeAPIServerClientSignerName:
		r.Type, r.KubeClient = ocmaddonv1beta1.RegistrationKubeClient, &ocmaddonv1beta1.KubeClientConfig{}
		if s := r.Subject; s != nil {
			r.KubeClient.Subject = &ocmaddonv1beta1.KubeClientSubject{User: s.User, Groups: slices.Clone(s.Groups)}
		}
	case r.Type == "" && r.SignerName != "":
		r.Type, r.CustomSigner = ocmaddonv1beta1.RegistrationCustomSigner, &ocmaddonv1beta1.CustomSignerConfig{SignerName: r.SignerName}
		if s := r.Subject; s != nil {
			r.CustomSigner.Subject = &ocmaddonv1beta1.Subject{User: s.User, Groups: slices.Clone(s.Groups), OrganizationUnits: slices.Clone(s.OrganizationUnits)}
		}
	case r.SignerName == "" && r.Type == ocmaddonv1beta1.RegistrationKubeClient:
		r.SignerName = certificatesv1.KubeAPIServerClientSignerName
		if r.KubeClient != nil && r.KubeClient.Subject != nil {
			r.Subject = &ocmaddonv1alpha1.Subject{User: r.KubeClient.Subject.User, Groups: slices.Clone(r.KubeClient.Subject.Groups)}
		}
	case r.SignerName == "" && r.Type == ocmaddonv1beta1.RegistrationCustomSigner && r.CustomSigner != nil:
		r.SignerName = r.CustomSigner.SignerName
		if s := r.CustomSigner.Subject; s != nil {
			r.Subject = &ocmaddonv1alpha1.Subject{User: s.User, Groups: slices.Clone(s.Groups), OrganizationUnits: slices.Clone(s.OrganizationUnits)}
		}
	}
}

// completeDriver brings over how credentials for the hub are had.
func completeDriver(status *ocmaddonv1alpha1.ManagedClusterAddOnStatus) {
	for i := range status.Registrations {
		r := &status.Registrations[i]
		switch {
		case r.Type != ocmaddonv1beta1.RegistrationKubeClient:
		case r.KubeClient != nil && r.KubeClient.Driver != "":
			if status.KubeClientDriver == "" {
				status.KubeClientDriver = r.KubeClient.Driver
			}
		case status.KubeClientDriver != "":
			if r.KubeClient == nil {
				r.KubeClient = &ocmaddonv1beta1.KubeClientConfig{}
			}
			r.KubeClient.Driver = status.KubeClientDriver
		}
	}
}
