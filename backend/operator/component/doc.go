// Package component is what the two operators have in common. A component is a Deployment of ours together with the accounts and roles it
// runs under: this package renders its manifests, applies them to a cluster (server-side, so that drift is undone and nothing is written
// that does not differ), reads how its rollout is doing, and makes the credentials that a component needs when it runs on another cluster
// than the one it looks after.
//
// It knows neither ClusterManager nor Klusterlet: what is wanted is decided in the packages beside it.
package component
