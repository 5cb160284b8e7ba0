package kube

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"
	"golang.org/x/net/proxy"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
)

const (
	dialTimeout      = 10 * time.Second
	handshakeTimeout = 10 * time.Second
	connectTimeout   = 15 * time.Second
	keepAlive        = 30 * time.Second
	idleTimeout      = 90 * time.Second
)

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// newTransport returns the one transport of a member: its CA (the system's roots
// without one), its forward proxy, HTTP/2 with health checks. The proxy is part
// of the dialer, so that upgraded connections take the same way.
func newTransport(endpoint *url.URL, spec clusterv1alpha1.ClusterSpec, ca []byte) (*http.Transport, error) {
	if endpoint.Scheme != "https" && endpoint.Scheme != "http" {
		return nil, fmt.Errorf("its apiEndpoint has the scheme %q, which is neither https nor http", endpoint.Scheme)
	}
	tlsConfig := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: spec.InsecureSkipTLSVerification} // #nosec G402 -- as the Cluster says
	if len(ca) > 0 && !spec.InsecureSkipTLSVerification {
		tlsConfig.RootCAs = x509.NewCertPool()
		if !tlsConfig.RootCAs.AppendCertsFromPEM(ca) {
			return nil, errors.New("its caBundle holds no certificate")
		}
	}
	dial, err := dialerFor(endpoint, spec.ProxyURL, spec.ProxyHeader)
	if err != nil {
		return nil, err
	}
	return utilnet.SetTransportDefaults(&http.Transport{
		Proxy:               func(*http.Request) (*url.URL, error) { return nil, nil }, // the dialer does it
		DialContext:         dial,
		TLSClientConfig:     tlsConfig,
		TLSHandshakeTimeout: handshakeTimeout,
		IdleConnTimeout:     idleTimeout,
		MaxIdleConnsPerHost: 8,
	}), nil
}

// dialerFor returns how to open a connection to the endpoint: through the
// Cluster's proxy, else through that of the hub's environment, else directly.
func dialerFor(endpoint *url.URL, proxyURL string, header map[string]string) (dialFunc, error) {
	direct := &net.Dialer{Timeout: dialTimeout, KeepAlive: keepAlive}
	var via *url.URL
	var err error
	if proxyURL != "" {
		via, err = url.Parse(proxyURL)
	} else {
		via, err = httpproxy.FromEnvironment().ProxyFunc()(endpoint)
	}
	if err != nil {
		return nil, errors.New("its proxyURL is not a URL") // the URL may hold a password
	}
	if via == nil {
		return direct.DialContext, nil
	}
	switch via.Scheme {
	case "http", "https":
		return (&connectDialer{proxy: via, header: connectHeader(via, header), direct: direct}).dial, nil
	case "socks5", "socks5h":
		return socksDialer(via, direct)
	}
	return nil, fmt.Errorf("its proxyURL has the scheme %q, which is not http, https or socks5", via.Scheme)
}

func socksDialer(via *url.URL, direct *net.Dialer) (dialFunc, error) {
	var auth *proxy.Auth
	if via.User != nil {
		password, _ := via.User.Password()
		auth = &proxy.Auth{User: via.User.Username(), Password: password}
	}
	dialer, err := proxy.SOCKS5("tcp", withPort(via, "1080"), auth, direct)
	if err != nil {
		return nil, fmt.Errorf("use its proxyURL: %w", err)
	}
	contextual, ok := dialer.(proxy.ContextDialer)
	if !ok {
		return nil, errors.New("use its proxyURL: the SOCKS dialer cannot be cancelled")
	}
	return contextual.DialContext, nil
}

// connectHeader is what the CONNECT request carries. A value of proxyHeader may
// be a list separated by commas (contract section 2.1).
func connectHeader(via *url.URL, extra map[string]string) http.Header {
	header := http.Header{}
	for key, list := range extra {
		for value := range strings.SplitSeq(list, ",") {
			header.Add(key, strings.TrimSpace(value))
		}
	}
	if via.User != nil && header.Get("Proxy-Authorization") == "" {
		password, _ := via.User.Password()
		basic := base64.StdEncoding.EncodeToString([]byte(via.User.Username() + ":" + password))
		header.Set("Proxy-Authorization", "Basic "+basic)
	}
	return header
}

func withPort(u *url.URL, port string) string {
	if u.Port() != "" {
		port = u.Port()
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// connectDialer opens connections through an HTTP proxy's CONNECT.
type connectDialer struct {
	proxy  *url.URL
	header http.Header
	direct *net.Dialer
}

func (d *connectDialer) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	connection, err := d.open(ctx, network)
	if err != nil {
		return nil, fmt.Errorf("connect to the forward proxy: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = connection.SetDeadline(time.Unix(1, 0)) }) // unblocks the exchange
	err = d.connect(connection, address)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = connection.Close()
		return nil, fmt.Errorf("connect through the forward proxy: %w", err)
	}
	return connection, nil
}

func (d *connectDialer) open(ctx context.Context, network string) (net.Conn, error) {
	if d.proxy.Scheme == "http" {
		return d.direct.DialContext(ctx, network, withPort(d.proxy, "80"))
	}
	secure := tls.Dialer{NetDialer: d.direct, Config: &tls.Config{MinVersion: tls.VersionTLS12, ServerName: d.proxy.Hostname(), NextProtos: []string{"http/1.1"}}}
	return secure.DialContext(ctx, network, withPort(d.proxy, "443"))
}

// connect asks the proxy for a tunnel. The proxy must not send anything after
// its answer, since in TLS the client speaks first.
func (d *connectDialer) connect(connection net.Conn, address string) error {
	request := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address, Header: d.header.Clone()}
	if err := request.Write(connection); err != nil {
		return err
	}
	reader := bufio.NewReaderSize(connection, 4096)
	response, err := http.ReadResponse(reader, request)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		_ = response.Body.Close()
		return fmt.Errorf("it answered %s", response.Status)
	}
	if reader.Buffered() > 0 {
		return errors.New("it sent data before the tunnel was used")
	}
	return nil
}
