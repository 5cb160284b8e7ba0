package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The addresses of every lab. Pod and service ranges are the same in each
// cluster, as they often are in life: nothing may rely on reaching a member's
// pods from outside.
const (
	// HubIP is the bridge of the wan namespace: the address at which members
	// and their pods find what Lab.Expose offers.
	HubIP     = "10.77.0.1"
	nodeIPFmt = "10.77.0.%d" // from firstNode on
	firstNode = 11
	podRange  = "10.200.0.0/24"
	serviceIP = "10.96.0.1"

	// PauseImage is built from images/pause and loaded into each cluster.
	PauseImage = "muster.test/pause:1"
	// WebImage is built from images/web: the workload of ExampleManifest.
	WebImage = "muster.test/web:1"
)

// Where things are inside a node. The cluster's folder and the binaries are
// mounted there, so paths stay short (a socket's may have 107 bytes) and the
// files below need no templating.
const (
	nodeDir = "/run/node"
	binDir  = "/run/bin"
	cniBin  = "/usr/lib/cni" // Debian's place
)

// containerd 1.6 (Debian 12) reads this; 1.7 too, and 2.x converts it.
const containerdToml = `version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
disabled_plugins = [
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs",
  "io.containerd.internal.v1.opt", # would make /opt/containerd on the machine
]
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "` + PauseImage + `"
  restrict_oom_score_adj = true # a pod's score may not go below our own
  disable_apparmor = true       # profiles belong to the whole machine
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "` + cniBin + `"
    conf_dir = "/run/node/config/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
`

// ptp, not bridge: all pod traffic is routed through the node, so that conntrack
// sees both directions of a service connection between two pods of one node
// without the br_netfilter module.
const cniConf = `{"cniVersion": "1.0.0", "name": "pods", "plugins": [{"type": "ptp", "ipMasq": false,
  "ipam": {"type": "host-local", "dataDir": "/run/node/cni", "ranges": [[{"subnet": "` + podRange + `"}]],
           "routes": [{"dst": "0.0.0.0/0"}]}}]}
`

// makeIPTablesUtilChains off: kube-proxy uses nftables, nothing needs iptables.
// oomScoreAdj 0 and resolvConf "": do not touch or read the machine's.
// failCgroupV1 off: this runs on machines with either version.
// maxOpenFiles: the default, a million, is more than some machines let root have.
const kubeletYAML = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: false}, webhook: {enabled: false}, x509: {clientCAFile: /run/node/pki/ca.crt}}
authorization: {mode: AlwaysAllow}
cgroupDriver: cgroupfs
cgroupRoot: /%s
failCgroupV1: false
failSwapOn: false
enforceNodeAllocatable: []
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
volumePluginDir: /var/lib/kubelet/volume-plugins
makeIPTablesUtilChains: false
resolvConf: ""
clusterDomain: cluster.local
oomScoreAdj: 0
maxOpenFiles: 20000
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 100Mi, nodefs.available: 1%%, imagefs.available: 1%%, nodefs.inodesFree: 1%%}
`

// The conntrack zeros: those settings belong to the whole machine.
const proxyYAML = `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
clusterCIDR: ` + podRange + `
clientConnection: {kubeconfig: /run/node/kubeconfig/proxy}
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
oomScoreAdj: 0
hostnameOverride: %s
`

// Pods leave the node under its address, as behind a home router.
const masqueradeNFT = `table ip muster {
  chain post { type nat hook postrouting priority srcnat; ip saddr ` + podRange + ` oifname "wan0" masquerade; }
}
`

// natNFT closes the node to connections from outside, for ClusterOptions.NAT.
const natNFT = `table ip muster {
  chain in { type filter hook input priority filter; iifname "wan0" ct state new drop; }
  chain through { type filter hook forward priority filter; iifname "wan0" ct state new drop; }
}
`

// shadowedSysctls are settings of the whole machine that kubelet insists on. It
// is shown files with the values it wants instead.
var shadowedSysctls = map[string]string{
	"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
	"kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000",
}

// userDirs belong to the user that the control plane runs as.
var userDirs = []string{"etcd", "controller-manager", "pki", "kubeconfig"}

// writeConfig lays out a cluster's folder.
func writeConfig(dir, cluster, cgroup string) error {
	for _, d := range append(userDirs, "config/cni", "log", "kubelet", "containerd", "cni") {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{
		"containerd.toml":      containerdToml,
		"cni/10-pods.conflist": cniConf,
		"kubelet.yaml":         fmt.Sprintf(kubeletYAML, cgroup),
		"proxy.yaml":           fmt.Sprintf(proxyYAML, cluster),
		"masquerade.nft":       masqueradeNFT,
		"nat.nft":              natNFT,
	} {
		if err := os.WriteFile(filepath.Join(dir, "config", name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// handOver gives the user its folders, with what is in them.
func handOver(dir string, user int) error {
	for _, d := range userDirs {
		err := filepath.WalkDir(filepath.Join(dir, d), func(path string, _ fs.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(path, user, user))
		})
		if err != nil {
			return err
		}
	}
	return os.Chmod(filepath.Join(dir, "etcd"), 0o700)
}

// command is one component and its arguments.
type command struct {
	name string
	argv []string
	root bool // else it runs as the cluster's own user
}

func kube(component string, args ...string) command {
	return command{name: component, argv: append([]string{binDir + "/kube", component}, args...)}
}

// The components, in order of start. The API server needs etcd, but waits for
// it itself; the rest start when the API server is ready.
func controlPlane(ip string) (first, then []command) {
	first = []command{
		kube("etcd", nodeDir+"/etcd", "http://127.0.0.1:2379"),
		kube("apiserver", "--etcd-servers=http://127.0.0.1:2379",
			"--advertise-address="+ip, "--secure-port=6443", "--service-cluster-ip-range=10.96.0.0/16",
			"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged=true",
			"--client-ca-file="+nodeDir+"/pki/ca.crt",
			"--tls-cert-file="+nodeDir+"/pki/apiserver.crt", "--tls-private-key-file="+nodeDir+"/pki/apiserver.key",
			"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
			"--service-account-key-file="+nodeDir+"/pki/sa.key", "--service-account-signing-key-file="+nodeDir+"/pki/sa.key",
			"--kubelet-client-certificate="+nodeDir+"/pki/apiserver-kubelet-client.crt",
			"--kubelet-client-key="+nodeDir+"/pki/apiserver-kubelet-client.key",
			"--kubelet-preferred-address-types=InternalIP"),
	}
	// One replica each: no leader election, which would cost two seconds and
	// two writes every two seconds. The higher client limits speed up the start.
	common := []string{"--leader-elect=false", "--bind-address=127.0.0.1", "--kube-api-qps=500", "--kube-api-burst=1000"}
	then = []command{
		kube("controller-manager", append(common, "--kubeconfig="+nodeDir+"/kubeconfig/controller-manager",
			"--flex-volume-plugin-dir="+nodeDir+"/controller-manager", "--use-service-account-credentials=true", "--service-account-private-key-file="+nodeDir+"/pki/sa.key",
			"--root-ca-file="+nodeDir+"/pki/ca.crt",
			"--cluster-signing-cert-file="+nodeDir+"/pki/ca.crt", "--cluster-signing-key-file="+nodeDir+"/pki/ca.key")...),
		kube("scheduler", append(common, "--kubeconfig="+nodeDir+"/kubeconfig/scheduler")...),
	}
	return first, then
}

func nodeAgents(cluster, ip string) []command {
	kubelet := kube("kubelet", "--config="+nodeDir+"/config/kubelet.yaml", "--kubeconfig="+nodeDir+"/kubeconfig/kubelet",
		"--hostname-override="+cluster, "--node-ip="+ip)
	proxy := kube("proxy", "--config="+nodeDir+"/config/proxy.yaml")
	kubelet.root, proxy.root = true, true
	return []command{kubelet, proxy}
}
