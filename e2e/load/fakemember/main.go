// Command fakemember plays the API servers of many push members in one process:
// each member is a path of one https address, with a store of its own in memory.
//
// It serves what a hub, kubectl or an agent needs of a cluster: readiness,
// version, discovery (aggregated and not), and create, read, update, patch, delete
// and watch of the kinds in kinds.go, with resource versions, label selectors,
// finalizers and status subresources. Nothing is validated, defaulted or run, and
// there is one right: the token.
//
//	fakemember --members 100 --kubeconfig .muster/admin.kubeconfig
//
// registers them with a hub by writing their Secrets and Clusters, which is what
// "muster join" does at last.
package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509/pkix"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"muster.dev/muster/backend/controlplane/controlplanetest"
	"muster.dev/muster/e2e/load"
)

// options are the flags.
type options struct {
	members, nodes                       int
	name, listen, kubeconfig, kubernetes string
}

func main() {
	var o options
	flag.IntVar(&o.members, "members", 1, "how many members to play")
	flag.IntVar(&o.nodes, "nodes", 1, "how many nodes each shows")
	flag.StringVar(&o.name, "name", "fake", "what the members' names begin with")
	flag.StringVar(&o.listen, "listen", "127.0.0.1:0", "address to serve on")
	flag.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of the hub to register with; without, they are only served")
	flag.StringVar(&o.kubernetes, "kubernetes", "v1.36.3", "version the members claim to have")
	flag.Parse()
	load.Main(func(ctx context.Context) error { return run(ctx, o) })
}

func run(ctx context.Context, o options) error {
	members := map[string]*store{}
	for i := range o.members {
		members[fmt.Sprintf("%s-%05d", o.name, i+1)] = seeded(o.nodes)
	}
	token := rand.Text()
	handler := newServer(token, o.kubernetes, members)
	listener, err := net.Listen("tcp", o.listen)
	if err != nil {
		return err
	}
	pair, ca, err := certificate(listener.Addr())
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second,
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}}
	reports := load.NewReports(os.Stdout, handler.report)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		return server.Close()
	})
	group.Go(func() error {
		if o.kubeconfig != "" {
			if err := register(ctx, o.kubeconfig, registration{address: "https://" + listener.Addr().String(), token: token, ca: ca, members: members}); err != nil {
				return err
			}
		}
		if err := reports.Print(); err != nil {
			return err
		}
		return reports.Start(ctx)
	})
	return group.Wait()
}

// certificate makes that of an address, and returns what to trust it by.
func certificate(address net.Addr) (tls.Certificate, []byte, error) {
	host, _, err := net.SplitHostPort(address.String())
	if err != nil {
		return tls.Certificate{}, nil, fmt.Errorf("address %s: %w", address, err)
	}
	authority, err := controlplanetest.NewAuthority("fakemember-ca")
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	cert, key, err := authority.Issue(pkix.Name{CommonName: "fakemember"}, []string{host, "localhost"})
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	return pair, authority.CertPEM, err
}
