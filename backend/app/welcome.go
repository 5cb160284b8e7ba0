package app

import (
	"fmt"
	"net"
	"strings"

	"muster.dev/muster/backend/controlplane"
)

// AdminKubeconfigFile is where the administrator's kubeconfig lies in dataDir.
func AdminKubeconfigFile(dataDir string) string { return controlplane.AdminKubeconfigFile(dataDir) }

// firstRun is what is printed once and kept nowhere.
type firstRun struct {
	password string // of the first administrator
	register string // the complete register command with a fresh token
}

// Welcome says where the hub is and what to do next. On the first run it holds
// the one-time password and a fresh token; it is for the operator's terminal only.
func (a *App) Welcome() string {
	if a.external != nil {
		return a.externalWelcome()
	}
	kubeconfig := AdminKubeconfigFile(a.config.DataDir)
	var text strings.Builder
	fmt.Fprintf(&text, "\nMuster %s\n\n", a.config.Version)
	fmt.Fprintf(&text, "  Dashboard   %s\n", a.dashboardURL())
	fmt.Fprintf(&text, "  Hub API     https://%s\n", a.config.Advertise)
	fmt.Fprintf(&text, "  Kubeconfig  %s\n", kubeconfig)
	if a.first.password != "" {
		fmt.Fprintf(&text, "\n  Sign in as  admin\n  Password    %s   (one time; you choose your own at the first sign-in)\n", a.first.password)
	}
	fmt.Fprintf(&text, `
Push: the hub calls the cluster. Run where you reach both:
  muster join NAME --kubeconfig %[1]s --cluster-kubeconfig <kubeconfig of the cluster>
  kubectl --kubeconfig %[1]s get clusters

Pull: the cluster calls the hub. Run where you reach the cluster:
`, kubeconfig)
	if a.first.register != "" {
		fmt.Fprintf(&text, "  %s \\\n    --kubeconfig <kubeconfig of the cluster>\n  (the token is good for 24 hours and one cluster)\n", a.first.register)
	} else {
		fmt.Fprintf(&text, "  muster token create --print-register-command --kubeconfig %s\n  and run what it prints\n", kubeconfig)
	}
	fmt.Fprintln(&text)
	return text.String()
}

// externalWelcome is for a hub on an existing API, whose kubeconfig is not ours
// to give.
func (a *App) externalWelcome() string {
	var text strings.Builder
	fmt.Fprintf(&text, "\nMuster %s on an existing Kubernetes API\n\n", a.config.Version)
	fmt.Fprintf(&text, "  Dashboard   %s\n", a.dashboardURL())
	fmt.Fprintf(&text, "  Hub API     https://%s\n", a.external.Address())
	fmt.Fprintf(&text, "  Webhooks    %s\n", a.config.External.WebhookListen)
	if a.first.password != "" {
		fmt.Fprintf(&text, "\n  Sign in as  admin\n  Password    %s   (one time; you choose your own at the first sign-in)\n", a.first.password)
	}
	fmt.Fprintln(&text, `
A cluster joins with unmodified clients:
  clusteradm get token
  clusteradm join --hub-token <token> --hub-apiserver <address> --cluster-name <name>
  clusteradm accept --clusters <name>`)
	return text.String()
}

// dashboardURL is the address to open; a wildcard listener is reached under the
// advertised host.
func (a *App) dashboardURL() string {
	host, _, err := net.SplitHostPort(a.config.DashboardListen)
	_, port, portErr := net.SplitHostPort(a.dashboard.Addr().String()) // also where any was asked for
	if err != nil || portErr != nil {
		return "https://" + a.config.DashboardListen
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = a.outwardHost()
	}
	return "https://" + net.JoinHostPort(host, port)
}

// outwardHost is where a dashboard that listens on all addresses is found.
func (a *App) outwardHost() string {
	if a.external == nil {
		host, _, _ := net.SplitHostPort(a.config.Advertise)
		return host
	}
	host, err := outwardAddress()
	if err != nil {
		return "localhost"
	}
	return host
}
