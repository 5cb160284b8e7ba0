// Package registry serves the Karmada groups that the hub keeps in typed storage: clusters with their status and proxy subresources,
// works, and both bindings (contract sections 1.1, 1.2, 2.1, 2.4 and 2.5). Everything here runs inside Kubernetes' own API server, which
// brings authentication, admission, audit, watch and server-side apply.
//
// What holds always:
//
//   - A write to the main resource never changes status; a write to status changes nothing else.
//   - metadata.generation rises when the spec changes, and only then.
//   - An agent that lists or watches clusters sees its own Cluster and no other.
//   - A write through an older version changes what that version has words for; all else stays as it is stored.
//   - Objects live in etcd under /registry/<group>/<resource>, the place where a custom resource of the same name would be.
//   - Nothing is cached: a list or watch is answered by etcd, also the streaming lists of informers (sendInitialEvents).
//
// The package knows neither Kubernetes' own kinds nor any domain of Muster; it links k8s.io/apiserver, not k8s.io/kubernetes.
package registry
