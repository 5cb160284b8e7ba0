package v1alpha1

// Condition types of a Work (contract section 3.7).
const (
	// WorkApplied says whether every manifest was applied to the member.
	WorkApplied = "Applied"
	// WorkDispatching says whether the manifests are being sent to the member.
	WorkDispatching = "Dispatching"
	// WorkProgressing is reserved by the API.
	WorkProgressing = "Progressing"
	// WorkAvailable is reserved by the API.
	WorkAvailable = "Available"
	// WorkDegraded says that status or health of an object cannot be told, and why. Without such trouble it is absent.
	WorkDegraded = "Degraded"
	// WorkDrifted tells of an object that somebody changed in the cluster and that was set back: it is False, and its
	// time is that of the last drift. Without drift since the Work changed it is absent.
	WorkDrifted = "Drifted"
)

// Reasons of the conditions of a Work.
const (
	// ReasonAppliedSuccessful goes with Applied True.
	ReasonAppliedSuccessful = "AppliedSuccessful"
	// ReasonAppliedFailed goes with Applied False.
	ReasonAppliedFailed = "AppliedFailed"
	// ReasonDispatching goes with Dispatching True.
	ReasonDispatching = "Dispatching"
	// ReasonSuspendDispatching goes with Dispatching False.
	ReasonSuspendDispatching = "SuspendDispatching"
	// ReasonReflectStatusFailed goes with Degraded True: an object's status cannot be taken over.
	ReasonReflectStatusFailed = "ReflectStatusFailed"
	// ReasonInterpretHealthFailed goes with Degraded True: an object's health cannot be judged.
	ReasonInterpretHealthFailed = "InterpretHealthFailed"
	// ReasonInterpreted goes with Degraded False.
	ReasonInterpreted = "Interpreted"
	// ReasonDriftRepaired goes with Drifted False.
	ReasonDriftRepaired = "DriftRepaired"
)

// Labels and annotations of Works and of their manifests (contract sections 3.3 and 3.4).
const (
	// WorkPermanentIDLabel identifies a Work, on the Work itself and on its manifests.
	WorkPermanentIDLabel = "work.karmada.io/permanent-id"
	// WorkNamespaceAnnotation on a manifest names the namespace of its Work.
	WorkNamespaceAnnotation = "work.karmada.io/namespace"
	// WorkNameAnnotation on a manifest names its Work.
	WorkNameAnnotation = "work.karmada.io/name"
	// ConflictResolutionAnnotation on a template, Work or manifest says what happens when the member already has the object.
	ConflictResolutionAnnotation = "work.karmada.io/conflict-resolution"
	// ConflictResolutionOverwrite is the annotation's value that takes the member's object over.
	ConflictResolutionOverwrite = "overwrite"
	// ConflictResolutionAbort is the annotation's value that leaves the member's object alone.
	ConflictResolutionAbort = "abort"
)

// ExecutionControllerFinalizer holds a Work until its manifests are removed from the member (contract section 3.5).
const ExecutionControllerFinalizer = "karmada.io/execution-controller"
