package component

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	ocmoperatorv1 "muster.dev/muster/backend/apis/ocm/operator/v1"
)

// PullSecret is the Secret with registry credentials that the operators copy to where pods of theirs run.
const PullSecret = ocmoperatorv1.ImagePullSecret

// Pods is what a custom resource says about the pods of all its components.
type Pods struct {
	NodeSelector map[string]string
	Tolerations  []corev1.Toleration
	// PriorityClass names a PriorityClass; empty: none.
	PriorityClass string
	// Resources are what a container asks for; see Resources.
	Resources corev1.ResourceRequirements
	// HostAliases resolve names that no DNS server knows.
	HostAliases []corev1.HostAlias
}

// Mount is one volume of a component.
type Mount struct {
	Name, Path string
	ReadOnly   bool
	Source     corev1.VolumeSource
}

// SecretMount mounts the Secret name at path. A Secret that is missing holds the pod back, unless it is optional.
func SecretMount(volume, path, secret string, optional bool) Mount {
	source := &corev1.SecretVolumeSource{SecretName: secret}
	if optional {
		source.Optional = &optional
	}
	return Mount{Name: volume, Path: path, ReadOnly: true, Source: corev1.VolumeSource{Secret: source}}
}

// ScratchMount mounts an empty directory at path, in memory or on the node's disk.
func ScratchMount(volume, path string, medium corev1.StorageMedium) Mount {
	return Mount{Name: volume, Path: path, Source: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: medium}}}
}

// Probe is how the kubelet asks a container whether it lives and is ready.
type Probe struct {
	Port        int32
	Scheme      corev1.URIScheme
	Live, Ready string
}

// Workload describes one component: a Deployment with one container.
type Workload struct {
	Name, Namespace string
	// App is the value of the label app by which the pods are selected.
	App       string
	Container string
	Image     string
	// Command replaces the image's entry point.
	Command, Args []string
	// Account is the ServiceAccount; empty: the pod has no credentials of the cluster it runs on.
	Account     string
	Replicas    int32
	Env         []corev1.EnvVar
	Ports       []corev1.ContainerPort
	Probe       Probe
	Mounts      []Mount
	HostNetwork bool
	// Replace ends the old pods before new ones start.
	Replace bool
	// Labels are put on Deployment and pods.
	Labels map[string]string
	// Annotations are put on the pods: a change replaces them.
	Annotations map[string]string
	Pods        Pods
}

// Deployment renders a workload.
func (w Workload) Deployment() *appsv1.Deployment {
	labels := map[string]string{"app": w.App}
	own := map[string]string{"app": w.Name}
	for key, value := range w.Labels {
		labels[key], own[key] = value, value
	}
	// Its numbers are named, so that they go when the strategy becomes the other.
	quarter := intstr.FromString("25%")
	strategy := appsv1.DeploymentStrategy{
		Type:          appsv1.RollingUpdateDeploymentStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &quarter, MaxUnavailable: &quarter},
	}
	if w.Replace {
		strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: w.Name, Namespace: w.Namespace, Labels: own},
		Spec: appsv1.DeploymentSpec{
			Replicas: &w.Replicas,
			Strategy: strategy,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": w.App}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: w.Annotations}, Spec: w.pod()},
		},
	}
}

func (w Workload) pod() corev1.PodSpec {
	yes, no, grace := true, false, int64(10)
	container := corev1.Container{
		Name: w.Container, Image: w.Image, ImagePullPolicy: corev1.PullIfNotPresent,
		Command: w.Command, Args: w.Args, Ports: w.Ports,
		Env: append([]corev1.EnvVar{
			fieldEnv("POD_NAME", "metadata.name"), fieldEnv("POD_NAMESPACE", "metadata.namespace"),
		}, w.Env...),
		LivenessProbe: w.probe(w.Probe.Live), ReadinessProbe: w.probe(w.Probe.Ready),
		Resources: w.Pods.Resources,
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: &no, Privileged: &no, ReadOnlyRootFilesystem: &yes, RunAsNonRoot: &yes,
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
	pod := corev1.PodSpec{
		Affinity:                      spread(w.App),
		HostAliases:                   w.Pods.HostAliases,
		HostNetwork:                   w.HostNetwork,
		ImagePullSecrets:              []corev1.LocalObjectReference{{Name: PullSecret}},
		NodeSelector:                  w.Pods.NodeSelector,
		PriorityClassName:             w.Pods.PriorityClass,
		TerminationGracePeriodSeconds: &grace,
		Tolerations:                   w.Pods.Tolerations,
	}
	if w.Account != "" {
		pod.ServiceAccountName = w.Account
	} else {
		pod.AutomountServiceAccountToken = &no
	}
	for _, mount := range w.Mounts {
		container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: mount.Name, MountPath: mount.Path, ReadOnly: mount.ReadOnly})
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: mount.Name, VolumeSource: mount.Source})
	}
	pod.Containers = []corev1.Container{container}
	return pod
}

func (w Workload) probe(path string) *corev1.Probe {
	if path == "" {
		return nil
	}
	return &corev1.Probe{
		InitialDelaySeconds: 2, PeriodSeconds: 10, TimeoutSeconds: 5,
		ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromInt32(w.Probe.Port), Scheme: w.Probe.Scheme}},
	}
}

func fieldEnv(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: path}}}
}

// spread keeps the replicas of one component apart: by zone first, then by node.
func spread(app string) *corev1.Affinity {
	selector := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "app", Operator: metav1.LabelSelectorOpIn, Values: []string{app}},
	}}
	term := func(weight int32, topology string) corev1.WeightedPodAffinityTerm {
		return corev1.WeightedPodAffinityTerm{Weight: weight, PodAffinityTerm: corev1.PodAffinityTerm{LabelSelector: selector, TopologyKey: topology}}
	}
	return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
			term(70, corev1.LabelTopologyZone), term(30, corev1.LabelHostname),
		},
	}}
}

// WithAlias adds a name to host aliases. There is one for each address: the API takes no second.
func WithAlias(aliases []corev1.HostAlias, ip, name string) []corev1.HostAlias {
	all := slices.Clone(aliases)
	at := slices.IndexFunc(all, func(alias corev1.HostAlias) bool { return alias.IP == ip })
	if at < 0 {
		return append(all, corev1.HostAlias{IP: ip, Hostnames: []string{name}})
	}
	if !slices.Contains(all[at].Hostnames, name) {
		all[at].Hostnames = append(slices.Clone(all[at].Hostnames), name)
	}
	return all
}

// requirementsGiven is the type that takes the requirements of the resource.
const requirementsGiven = string(ocmoperatorv1.ResourceQosRequirement)

// Resources says what a container asks for: usual, nothing ("BestEffort"), or what is given ("ResourceRequirement").
func Resources(kind string, given *corev1.ResourceRequirements, usual corev1.ResourceRequirements) corev1.ResourceRequirements {
	switch {
	case kind == "BestEffort":
		return corev1.ResourceRequirements{}
	case kind == requirementsGiven && given != nil:
		return *given
	}
	return usual
}

// IdleRequirements says whether requirements were given that their type leaves aside.
func IdleRequirements(kind string, given *corev1.ResourceRequirements) bool {
	return given != nil && kind != requirementsGiven
}

// Requests are resource requests without limits.
func Requests(cpu, memory string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Requests: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
	}}
}
