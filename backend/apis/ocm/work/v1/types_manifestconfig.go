package v1

// ManifestConfigOption says for one manifest how it is applied and what is reported of it.
type ManifestConfigOption struct {
	// ResourceIdentifier names the manifest; the agent takes * in name and namespace for any text.
	ResourceIdentifier ResourceIdentifier `json:"resourceIdentifier"`

	// FeedbackRules say which values of the object are reported.
	// +optional
	// +listType=atomic
	FeedbackRules []FeedbackRule `json:"feedbackRules,omitempty"`

	// FeedbackScrapeType says when they are read.
	// +optional
	// +kubebuilder:validation:Enum=Poll;Watch
	// +kubebuilder:default=Poll
	FeedbackScrapeType FeedbackScrapeType `json:"feedbackScrapeType,omitempty"`

	// UpdateStrategy says how the object is changed. Without it, by Update.
	// +optional
	UpdateStrategy *UpdateStrategy `json:"updateStrategy,omitempty"`

	// ConditionRules make conditions of the object's state.
	// +optional
	// +listType=map
	// +listMapKey=condition
	ConditionRules []ConditionRule `json:"conditionRules,omitempty"`
}

// ResourceIdentifier names an object by resource.
type ResourceIdentifier struct {
	// Group of the resource; empty for the core group.
	// +optional
	Group string `json:"group"`
	// Resource is the plural name.
	Resource string `json:"resource"`
	// Name of the object.
	Name string `json:"name"`
	// Namespace of the object; empty for cluster-scoped ones.
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// FeedbackScrapeType says when values are read.
type FeedbackScrapeType string

// When values are read.
const (
	// FeedbackPoll reads at the agent's interval.
	FeedbackPoll FeedbackScrapeType = "Poll"
	// FeedbackWatch reads on each change.
	FeedbackWatch FeedbackScrapeType = "Watch"
)

// FeedbackType says which values are reported.
type FeedbackType string

// Which values are reported.
const (
	// WellKnownStatus are the values that the agent knows for the kind.
	WellKnownStatus FeedbackType = "WellKnownStatus"
	// JSONPaths are named paths.
	JSONPaths FeedbackType = "JSONPaths"
)

// FeedbackRule chooses values of an object.
type FeedbackRule struct {
	// Type says which.
	// +kubebuilder:validation:Enum=WellKnownStatus;JSONPaths
	Type FeedbackType `json:"type"`

	// JSONPaths go with the type of that name.
	// +optional
	// +listType=map
	// +listMapKey=name
	JSONPaths []JSONPath `json:"jsonPaths,omitempty"`
}

// JSONPath names a value of an object.
type JSONPath struct {
	// Name that the value is reported under.
	Name string `json:"name"`

	// Version of the resource that the path is for. Without it, the preferred one.
	// +optional
	Version string `json:"version,omitempty"`

	// Path of the value.
	Path string `json:"path"`
}

// UpdateStrategyType says how an object is changed.
type UpdateStrategyType string

// How an object is changed.
const (
	// UpdateStrategyUpdate merges the manifest into the object and updates it.
	UpdateStrategyUpdate UpdateStrategyType = "Update"
	// UpdateStrategyCreateOnly makes the object and leaves it alone.
	UpdateStrategyCreateOnly UpdateStrategyType = "CreateOnly"
	// UpdateStrategyServerSideApply applies as a field manager of its own.
	UpdateStrategyServerSideApply UpdateStrategyType = "ServerSideApply"
	// UpdateStrategyReadOnly only reports.
	UpdateStrategyReadOnly UpdateStrategyType = "ReadOnly"
)

// UpdateStrategy says how an object is changed.
type UpdateStrategy struct {
	// Type says how.
	// +kubebuilder:validation:Enum=Update;CreateOnly;ServerSideApply;ReadOnly
	// +kubebuilder:default=Update
	// +required
	Type UpdateStrategyType `json:"type,omitempty"`

	// ServerSideApply goes with the type of that name.
	// +optional
	ServerSideApply *ServerSideApplyConfig `json:"serverSideApply,omitempty"`
}

// DefaultFieldManager is the field manager of an agent that applies.
const DefaultFieldManager = "work-agent"

// ServerSideApplyConfig says how to apply.
type ServerSideApplyConfig struct {
	// Force takes fields from other managers.
	// +optional
	Force bool `json:"force,omitempty"`

	// FieldManager starts with work-agent.
	// +optional
	// +kubebuilder:validation:Pattern=`^work-agent`
	// +kubebuilder:default=work-agent
	FieldManager string `json:"fieldManager,omitempty"`

	// IgnoreFields are left out of what is applied.
	// +optional
	// +listType=map
	// +listMapKey=condition
	IgnoreFields []IgnoreField `json:"ignoreFields,omitempty"`
}

// IgnoreFieldsCondition says when fields are left out.
type IgnoreFieldsCondition string

// When fields are left out.
const (
	// IgnoreOnSpokePresent leaves them out once the object exists.
	IgnoreOnSpokePresent IgnoreFieldsCondition = "OnSpokePresent"
	// IgnoreOnSpokeChange leaves them out when somebody changed them in the managed cluster.
	IgnoreOnSpokeChange IgnoreFieldsCondition = "OnSpokeChange"
)

// IgnoreField names fields that are left out.
type IgnoreField struct {
	// Condition says when.
	// +kubebuilder:validation:Enum=OnSpokePresent;OnSpokeChange
	// +kubebuilder:default=OnSpokePresent
	// +required
	Condition IgnoreFieldsCondition `json:"condition,omitempty"`

	// JSONPaths name fields.
	// +optional
	// +listType=atomic
	JSONPaths []string `json:"jsonPaths,omitempty"`

	// JSONPointers name fields.
	// +optional
	// +listType=atomic
	JSONPointers []string `json:"jsonPointers,omitempty"`

	// JQPathExpressions name fields.
	// +optional
	// +listType=atomic
	JQPathExpressions []string `json:"jqPathExpressions,omitempty"`
}

// ConditionRuleType says how a condition is found.
type ConditionRuleType string

// How a condition is found.
const (
	// WellKnownConditions are rules that the agent knows for the kind.
	WellKnownConditions ConditionRuleType = "WellKnownConditions"
	// CelConditionExpressions are expressions over the object.
	CelConditionExpressions ConditionRuleType = "CEL"
)

// ConditionRule makes a condition of an object's state.
type ConditionRule struct {
	// Condition is the type of the condition.
	// +kubebuilder:validation:MaxLength=316
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`
	Condition string `json:"condition"`

	// Type says how it is found.
	// +kubebuilder:validation:Enum=WellKnownConditions;CEL
	Type ConditionRuleType `json:"type"`

	// CelExpressions must all be true; the variable object is the object.
	// +optional
	// +listType=atomic
	CelExpressions []string `json:"celExpressions,omitempty"`

	// Message is that of the condition.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	Message string `json:"message,omitempty"`

	// MessageExpression makes the message; it goes before Message.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	MessageExpression string `json:"messageExpression,omitempty"`
}
