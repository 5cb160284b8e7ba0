package cluster

import (
	"crypto/x509/pkix"
	"fmt"
	"os"
	"path/filepath"

	"muster.dev/muster/backend/controlplane/controlplanetest"
)

// identities are the clients of a cluster, by the name of their kubeconfig.
func identities(cluster string) map[string]pkix.Name {
	return map[string]pkix.Name{
		"admin":              {CommonName: "admin", Organization: []string{"system:masters"}},
		"controller-manager": {CommonName: "system:kube-controller-manager"},
		"scheduler":          {CommonName: "system:kube-scheduler"},
		"proxy":              {CommonName: "system:kube-proxy"},
		"kubelet":            {CommonName: "system:node:" + cluster, Organization: []string{"system:nodes"}},
	}
}

// writeCredentials makes all keys, certificates and kubeconfigs of a cluster
// below dir. servers says under which URL the admin may reach it: one
// kubeconfig each, by file name; the components all use loopback.
func writeCredentials(dir, cluster, ip string, servers map[string]string) (*credentials, error) {
	ca, err := controlplanetest.NewAuthority(cluster + "-ca")
	if err != nil {
		return nil, err
	}
	_, accountKey, err := controlplanetest.NewKey()
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{"pki/ca.crt": ca.CertPEM, "pki/ca.key": ca.KeyPEM, "pki/sa.key": accountKey}

	for file, names := range map[string][]string{
		"apiserver": {ip, "127.0.0.1", serviceIP, "localhost", "kubernetes", "kubernetes.default",
			"kubernetes.default.svc", "kubernetes.default.svc.cluster.local"},
		"apiserver-kubelet-client": nil,
	} {
		subject := pkix.Name{CommonName: "kube-" + file, Organization: []string{"system:masters"}}
		if files["pki/"+file+".crt"], files["pki/"+file+".key"], err = ca.Issue(subject, names); err != nil {
			return nil, err
		}
	}
	creds := &credentials{authority: ca.CertPEM}
	if creds.cert, creds.key, err = ca.Issue(identities(cluster)["admin"], nil); err != nil {
		return nil, err
	}
	for file, subject := range identities(cluster) {
		urls := map[string]string{file: "https://127.0.0.1:6443"}
		if file == "admin" {
			urls = servers
		}
		for name, url := range urls {
			if files["kubeconfig/"+name], err = ca.Kubeconfig(cluster, url, subject); err != nil {
				return nil, err
			}
		}
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			return nil, fmt.Errorf("write credentials: %w", err)
		}
	}
	return creds, nil
}

// credentials are what the lab itself needs to talk to a cluster as its admin.
type credentials struct{ authority, cert, key []byte }
