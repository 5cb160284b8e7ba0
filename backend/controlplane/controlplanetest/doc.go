// Package controlplanetest starts what tests need a Kubernetes-style API for,
// each in processes of its own:
//
//   - a Member: etcd, kube-apiserver and the few kube controllers that joining
//     relies on, without nodes or with fake ones. It has no kubelet: package
//     e2e/cluster starts clusters that run pods.
//   - a Hub: the built binary muster, serving from a directory of its own.
//
// Nothing is built here. The binaries kube and muster come from $MUSTER_BIN or
// the repository's bin folder, where "make build" and "make kube" put them; a
// test that finds none fails and says so. Everything listens on loopback, keeps
// its files in the test's temporary directory and ends with the test: the kernel
// kills the processes even when the test itself is killed.
package controlplanetest
