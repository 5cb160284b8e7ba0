// Package operatortest starts planes for tests of the operators: each is a real API server with the deployment controllers, but without
// nodes. Kubelet plays those: it reports the pods of chosen namespaces as ready.
package operatortest
