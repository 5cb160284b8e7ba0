// Package joiningtest is a little of a Kubernetes API, to be the hub or the member
// of a join in tests, and to misbehave as real ones do.
package joiningtest
