package v1

// ServerConfiguration configures the server for agents that speak gRPC.
type ServerConfiguration struct {
	// ImagePullSpec is its image.
	// +optional
	ImagePullSpec string `json:"imagePullSpec,omitempty"`

	// FeatureGates switch features.
	// +optional
	// +listType=atomic
	FeatureGates []FeatureGate `json:"featureGates,omitempty"`

	// EndpointsExposure says where it is found.
	// +optional
	// +listType=atomic
	EndpointsExposure []EndpointExposure `json:"endpointsExposure,omitempty"`
}

// EndpointExposure is one place where the server is found.
type EndpointExposure struct {
	// Usage says who uses it.
	// +optional
	Usage string `json:"usage,omitempty"`

	// Protocol says which of the two below counts.
	// +kubebuilder:validation:Enum=grpc;https
	// +kubebuilder:default=grpc
	// +required
	Protocol string `json:"protocol,omitempty"`

	// GRPC goes with the protocol of that name.
	// +optional
	GRPC *Endpoint `json:"grpc,omitempty"`

	// HTTPS goes with the protocol of that name.
	// +optional
	HTTPS *Endpoint `json:"https,omitempty"`
}

// Endpoint is an address of one of three kinds.
type Endpoint struct {
	// Type says which of those below counts.
	// +kubebuilder:validation:Enum=hostname;loadBalancer;route
	// +kubebuilder:default=hostname
	// +required
	Type string `json:"type,omitempty"`

	// Hostname is a name that somebody else provides.
	// +optional
	Hostname *HostnameEndpoint `json:"hostname,omitempty"`

	// LoadBalancer is a service of that type.
	// +optional
	LoadBalancer *ExposedEndpoint `json:"loadBalancer,omitempty"`

	// Route is an OpenShift route.
	// +optional
	Route *ExposedEndpoint `json:"route,omitempty"`
}

// HostnameEndpoint is a name that somebody else provides.
type HostnameEndpoint struct {
	// Host is the name.
	Host string `json:"host"`

	// CABundle verifies it.
	// +optional
	CABundle []byte `json:"caBundle,omitempty"`
}

// ExposedEndpoint is an address that is made.
type ExposedEndpoint struct {
	// Host is the name, if it is not the one that is given.
	// +optional
	Host string `json:"host,omitempty"`

	// CABundle verifies it.
	// +optional
	CABundle []byte `json:"caBundle,omitempty"`
}
