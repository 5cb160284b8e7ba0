// Package cluster starts real, small Kubernetes clusters on one machine,
// for tests, with no container engine: each has its own etcd,
// kube-apiserver, controllers, scheduler, kubelet, kube-proxy, containerd and
// runc, and runs pods.
//
//	lab, err := cluster.New(cluster.Options{Bin: "bin"})
//	defer lab.Close()
//	a, err := lab.Start(ctx, "a", cluster.ClusterOptions{})
//	err = a.LoadImage(ctx, "agent.tar")
//	hub, err := lab.Expose(6443, "127.0.0.1:6443")      // pods dial https://10.77.0.1:6443
//	exec.Command("kubectl", "--kubeconfig", a.Kubeconfig(), ...)
//
// # How a cluster is held together
//
// A cluster ("node" below: it has exactly one) lives in its own network, mount,
// PID, UTS and IPC namespaces:
//
//	caller (test, demo)                      network namespace "wan", held by the lab
//	  127.0.0.1:random ──forward──────────►  bridge 10.77.0.1  ◄──forward── Expose ──► 127.0.0.1:port
//	                                           │ veth      │ veth
//	                                      10.77.0.11   10.77.0.12     one namespace set a cluster
//	                                      PID 1 = this program again, see node.go
//	                                      etcd apiserver kcm scheduler containerd kubelet kube-proxy
//	                                      pods 10.200.0.0/24, services 10.96.0.0/16 (the same in each)
//
// PID 1 is the calling program run a second time: importing this package is
// enough, its init function takes over when the program was started under the
// name in nodeArg0. PID 1 leaves as soon as its standard input ends, and the
// kernel then kills everything else in the PID namespace and drops the
// namespaces with their mounts and interfaces. So even a caller killed with
// SIGKILL leaves no process, mount, interface or firewall rule; only empty
// cgroups and the state folder, which the next New sweeps up.
//
// Nothing outside the namespaces is changed but those two: no sysctl, no
// firewall rule, no interface, no file outside the state folder.
package cluster
