package reach

import (
	"net/http"
	"net/url"
	"time"

	"k8s.io/client-go/rest"

	"muster.dev/muster/backend/registration"
)

// Keeps is what a join remembers of a kubeconfig: never the credential itself.
type Keeps struct {
	Server string `json:"server"`
	// CAPin is the pin of the CA that verifies the server, empty for the system's.
	CAPin string `json:"caPin"`
	// Credential is the kind of credential that is used once and forgotten.
	Credential string `json:"credential"`
	Insecure   bool   `json:"insecure"`
	ProxyURL   string `json:"proxyURL,omitempty" validate:"optional"`
} // @name cluster.Keeps

// Keeps is what a join remembers of an access.
func (a *Access) Keeps() *Keeps {
	keeps := &Keeps{Server: a.Server, CAPin: certificatePin(a.CA), Credential: a.Credential(), Insecure: a.Insecure}
	if a.ProxyURL != nil {
		keeps.ProxyURL = a.ProxyURL.String()
	}
	return keeps
}

// Target is the way to the member, for a clean-up after a crash.
func (a *Access) Target() registration.Target {
	target := registration.Target{Server: a.Server, Insecure: a.Insecure}
	if a.ProxyURL != nil {
		target.ProxyURL = a.ProxyURL.String()
	}
	return target
}

// DialConfig is Config over a dialer that keeps to its policy.
func (a *Access) DialConfig(dialer *Dialer) *rest.Config {
	config := a.Config()
	config.Dial = dialer.DialContext
	config.Timeout = 20 * time.Second
	// No proxy of the hub's environment: the address was judged without it.
	config.Proxy = func(*http.Request) (*url.URL, error) { return a.ProxyURL, nil }
	return config
}
