package e2e_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	ocmoperatorv1 "muster.dev/muster/backend/apis/ocm/operator/v1"
	"muster.dev/muster/backend/controlplane/controlplanetest"
)

// agentSpace is where a Klusterlet's agents and their secrets are.
const agentSpace = "open-cluster-management-agent"

// bootstrapSecret makes the secret with which a member's agents introduce it, or
// replaces what it holds.
func bootstrapSecret(t *testing.T, m *controlplanetest.Member, kubeconfig string) {
	t.Helper()
	text := kubectl(t, m.Kubeconfig, "create", "secret", "generic", "bootstrap-hub-kubeconfig", "--namespace", agentSpace,
		"--from-file=kubeconfig="+kubeconfig, "--dry-run=client", "-o", "yaml")
	if r := runWith(t, text, "kube", "kubectl", "--kubeconfig", m.Kubeconfig, "apply", "-f", "-"); r.code != 0 {
		t.Fatalf("apply the bootstrap secret: %s%s", r.stdout, r.stderr)
	}
}

// awaitConnection waits until a Klusterlet's condition HubConnectionDegraded is as
// told, and returns its message.
func awaitConnection(t *testing.T, m *controlplanetest.Member, status, reason string) (message string) {
	t.Helper()
	client, err := dynamic.NewForConfig(loadConfig(t, m.Kubeconfig))
	if err != nil {
		t.Fatal(err)
	}
	var last any
	defer func() {
		if t.Failed() {
			t.Logf("conditions: %v", last)
		}
	}()
	eventually(t, "HubConnectionDegraded="+status+" "+reason, func(ctx context.Context) bool {
		object, err := client.Resource(ocmoperatorv1.GroupVersion.WithResource("klusterlets")).Get(ctx, "klusterlet", metav1.GetOptions{})
		if err != nil {
			return false
		}
		conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
		for _, c := range conditions {
			if last = conditions; dig(c, "type") == ocmoperatorv1.ConditionHubConnectionDegraded {
				message = fmt.Sprint(dig(c, "message"))
				return dig(c, "status") == status && dig(c, "reason") == reason
			}
		}
		return false
	})
	return message
}

// TestOCMTokenExpiresWhileItWaits: a token runs out between the agent's request and
// the approval, and the hub starts anew. The agent says what to do, and joins with a
// new token.
func TestOCMTokenExpiresWhileItWaits(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "east", Nodes: 1})
	token := introducingToken(t, h, time.Now().Add(time.Hour))
	bootstrap := ocmBootstrap(t, h, token)
	agent := startKlusterlet(t, m, "east", bootstrap)
	request := h.awaitRequest(t, "east")
	eventually(t, "east is announced", func(context.Context) bool { return h.managedCluster(t, "east") != nil })

	patch := fmt.Sprintf(`{"stringData":{"expiration":%q}}`, time.Now().Add(-time.Minute).UTC().Format(time.RFC3339))
	if err := send(t.Context(), h.admin(t), "PATCH", "/api/v1/namespaces/kube-system/secrets/bootstrap-token-ocmhub", patch); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the hub answers the token 401", func(ctx context.Context) bool {
		return apierrors.IsUnauthorized(send(ctx, bootstrapConfig(t, h, token), "GET", managedPath+"/east", ""))
	})
	if err := h.Kill(); err != nil { // the agent's streams were judged when they began
		t.Fatal(err)
	}
	if err := h.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.connect(t)
	kubectl(t, h.Kubeconfig, "certificate", "approve", request)
	h.accept(t, "east", true)
	h.awaitIssued(t, request)
	awaitLog(t, agent, "tokens expire")
	if east := h.managedCluster(t, "east"); meta.IsStatusConditionTrue(east.Status.Conditions, ocmv1.ConditionJoined) {
		t.Error("joined with a token that has expired")
	}

	renewed, err := os.ReadFile(ocmBootstrap(t, h, ocmToken(t, h)))
	if err == nil {
		err = os.WriteFile(bootstrap, renewed, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	h.awaitServed(t, "east")
}

// TestOCMBootstrapExpired: a Klusterlet whose token has expired before its agent
// came says so in its condition, and the agent says in its log what to do. With a
// new token in the secret the cluster joins, with nothing started anew.
func TestOCMBootstrapExpired(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: "east", Nodes: 1})
	kubectl(t, m.Kubeconfig, "apply", "-f", "../deploy/crds/ocm-operator")
	kubectl(t, m.Kubeconfig, "wait", "--for=condition=Established", "--timeout=60s", "crd/klusterlets.operator.open-cluster-management.io")
	kubectl(t, m.Kubeconfig, "create", "namespace", agentSpace)
	expired := introducingToken(t, h, time.Now().Add(-time.Minute))
	eventually(t, "the hub answers the token 401", func(ctx context.Context) bool {
		return apierrors.IsUnauthorized(send(ctx, bootstrapConfig(t, h, expired), "GET", managedPath+"/east", ""))
	})
	bootstrapSecret(t, m, ocmBootstrap(t, h, expired))
	kubectl(t, m.Kubeconfig, "apply", "-f", filepath.Join("..", "deploy", "operator", "samples", "klusterlet.yaml"))
	operate := []string{"operator", "--for", "spoke", "--namespace", agentSpace, "--kubeconfig", m.Kubeconfig}
	operator := startProcess(t, "muster", "operator", operate...)

	message := awaitConnection(t, m, "True", "BootstrapSecretUnauthorized,HubKubeConfigSecretMissing")
	if want := agentSpace + "/bootstrap-hub-kubeconfig to apiserver " + h.admin(t).Host; !strings.Contains(message, want) {
		t.Errorf("the condition says %q, want which secret is not good for which hub", message)
	}
	// The member has no kubelet: this is the pod.
	agent := startProgram(t, "klusterlet", "--cluster-name", "cluster1", "--member-kubeconfig", m.Kubeconfig, "--namespace", agentSpace)
	awaitLog(t, agent, "tokens expire")
	awaitLog(t, agent, "into the bootstrap kubeconfig in secret "+agentSpace+"/bootstrap-hub-kubeconfig")
	if h.managedCluster(t, "cluster1") != nil || len(h.requestsOf(t.Context(), t, "cluster1")) > 0 {
		t.Error("something came of an expired token")
	}

	bootstrapSecret(t, m, ocmBootstrap(t, h, ocmToken(t, h)))
	awaitConnection(t, m, "True", "BootstrapSecretFunctional,HubKubeConfigSecretMissing")
	h.letIn(t, "cluster1")
	awaitConnection(t, m, "False", "HubConnectionFunctional")
	printed, err := os.ReadFile(agent.Log)
	if err != nil {
		t.Fatal(err)
	}
	if _, secret, _ := strings.Cut(expired, "."); strings.Contains(string(printed), secret) {
		t.Error("the token is in the agent's log")
	}
	succeedOperator(t, m, operator, operate)
}

// succession bounds how long a killed operator's Lease may hold its successor up.
// The promise is half of it; a loaded machine is given more, and less than half of
// what the field's takes.
const succession = time.Minute

// succeedOperator kills an operator that has no time to give its Lease up, and has
// another one act on what changes.
func succeedOperator(t *testing.T, m *controlplanetest.Member, operator *controlplanetest.Process, arguments []string) {
	t.Helper()
	klusterlets := clientFor(t, loadConfig(t, m.Kubeconfig)).Resource(ocmoperatorv1.GroupVersion.WithResource("klusterlets"))
	if err := operator.Kill(); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	kubectl(t, m.Kubeconfig, "patch", "klusterlet", "klusterlet", "--type=merge", `-p={"spec":{"nodePlacement":{"nodeSelector":{"agents":"here"}}}}`)
	startProcess(t, "muster", "successor", arguments...)
	eventually(t, "the successor has seen the change", func(ctx context.Context) bool {
		object, err := klusterlets.Get(ctx, "klusterlet", metav1.GetOptions{})
		if err != nil {
			return false
		}
		seen, _, _ := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
		return seen == object.GetGeneration()
	})
	took := time.Since(begin)
	t.Logf("a killed operator's successor acted after %.1f s", took.Seconds())
	if took > succession {
		t.Errorf("a killed operator's Lease held its successor up for %s", took)
	}
}
