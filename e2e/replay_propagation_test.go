package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/backend/controlplane/controlplanetest"
)

// propagations are the recordings of propagation, in the order in which they were
// made: each finds what the ones before left. Those named after-… are what the
// recorded hub and its members held then, object by object.
var propagations = []struct {
	name    string
	prepare func(*testing.T, *replay)
}{
	{"push-propagation", nil},
	{"after-propagation", nil},
	{"override-image", nil},
	{"after-override", overrideAgain},
	{"policy-delete", nil},
	{"template-delete", nil},
	{"propagation-divided", nil},
	{"after-propagation-divided", nil},
	{"promote", deployLegacy},
	{"after-promote", nil},
	{"apply-to-cluster", nil},
	{"conflict", claimClash},
	{"dependencies", nil},
	{"no-cluster-fit", nil},
}

// TestReplayPropagation plays what unmodified clients asked of a hub that
// propagates, with two push members and a pull member: the same status codes, at
// least the same fields, the same tables, and the same objects on the hub and in the
// members afterwards.
func TestReplayPropagation(t *testing.T) {
	t.Parallel()
	r := startPropagationReplay(t)
	for _, s := range propagations {
		t.Run(s.name, func(t *testing.T) {
			if s.prepare != nil {
				s.prepare(t, r)
			}
			for number, l := range readRecording(t, s.name) {
				r.play(t, s.name, number+1, l)
			}
		})
	}
	demandAll(t, r.deviations)
}

// recordedFlags are what the recorded members were joined with.
var recordedFlags = map[string][]string{
	"member1": {"--cluster-provider", "acme", "--cluster-region", "eu", "--cluster-zones", "zone-a,zone-b"},
	"member2": {"--cluster-provider", "acme", "--cluster-region", "us"},
	"member3": {"--cluster-provider", "acme", "--cluster-region", "ap", "--cluster-zones", "zone-x"},
}

// atMember3 is the user who asks member3 itself for what the recorded clients asked
// the hub's proxy for: our agent gives the hub no account in its cluster.
const atMember3 = "administrator of member3"

// direct sends what is meant for member3 there.
func (r *replay) direct(l line) (line, string) {
	if rest, ok := strings.CutPrefix(l.URI, "/apis/cluster.karmada.io/v1alpha1/clusters/member3/proxy"); ok && r.propagates {
		l.User = atMember3
		return l, rest
	}
	return l, r.ours(l.URI)
}

// startPropagationReplay starts a hub and its members, whose pods run.
func startPropagationReplay(t *testing.T) *replay {
	t.Helper()
	h := startHub(t)
	config, err := h.Config()
	if err != nil {
		t.Fatal(err)
	}
	r := &replay{
		identities: newIdentities(config), hub: h, deviations: fresh(propagationDeviations), propagates: true,
		members: map[string]*controlplanetest.Member{}, ids: map[string]string{}, secrets: map[string]map[string]string{}, uids: map[string]string{},
	}
	ctx, stop := context.WithCancel(t.Context())
	var kubelets sync.WaitGroup
	t.Cleanup(func() {
		stop()
		kubelets.Wait()
	})
	for _, name := range []string{"member1", "member2", "member3"} {
		m := controlplanetest.StartMember(t, controlplanetest.MemberOptions{Name: name, Nodes: 1})
		r.members[name] = m
		if name == "member3" {
			startAgent(t, h, m, createToken(t, h), append([]string{"--cluster-name", name}, recordedFlags[name]...)...)
			r.configs[atMember3] = m.Config()
		} else {
			mustJoin(t, h, name, m, recordedFlags[name]...)
		}
		h.awaitReady(t, name, metav1.ConditionTrue)
		kubelets.Go(func() { keepPodsRunning(ctx, m) })
	}
	return r
}

// overrideAgain makes the override policy once more that the recorded client had
// deleted.
func overrideAgain(t *testing.T, r *replay) {
	for number, l := range readRecording(t, "override-image") {
		if l.Method == "POST" {
			r.play(t, "override-image", number+1, l)
		}
	}
}

// deployLegacy puts into member1 what is promoted.
func deployLegacy(t *testing.T, r *replay) {
	legacy := deployment("default", "legacy")
	spec := legacy["spec"].(map[string]any)
	spec["replicas"] = 1
	spec["template"].(map[string]any)["spec"] = map[string]any{"containers": []any{map[string]any{"name": "nginx", "image": "nginx:1.19"}}}
	r.applyToMember(t, "member1", legacy)
	r.putConfigMap(t, "member1", "legacy-cm", map[string]string{"x": "y"})
}

// claimClash puts into member2 what stands in the hub's way there.
func claimClash(t *testing.T, r *replay) {
	r.putConfigMap(t, "member2", "clash", map[string]string{"owner": "member"})
}

func (r *replay) putConfigMap(t *testing.T, member, name string, data map[string]string) {
	t.Helper()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
	if _, err := r.members[member].Client.CoreV1().ConfigMaps("default").Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// permanentIDRE is the key of a label whose value is an id that the hub chose.
var permanentIDRE = regexp.MustCompile(`\.karmada\.io/permanent-id$`)

// meetIDs notes which permanent id of ours a recorded one stands for.
func (r *replay) meetIDs(recorded, own any) {
	labels, _ := dig(recorded, "metadata", "labels").(map[string]any)
	for key, was := range labels {
		if is, ok := dig(own, "metadata", "labels", key).(string); ok && permanentIDRE.MatchString(key) {
			r.uids[fmt.Sprint(was)] = is
		}
	}
}

// withOurs puts the ids of our objects in place of the recorded ones in a body.
func (r *replay) withOurs(body any) (any, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	var out any
	return out, json.Unmarshal([]byte(r.ours(string(data))), &out)
}

// ageRE is an age in a table, or an address that a member chose.
var ageRE = regexp.MustCompile(`^(\d+(s|m|h|d|m\d+s|h\d+m)|\d+\.\d+\.\d+\.\d+)$`)

// unlike lists where the cells of a recorded table differ from ours, or what objects
// hold: what missing leaves out, since it is nothing that a hub has to repeat unless
// it propagates.
func unlike(recorded, ours any, path string) (out []string) {
	switch want := recorded.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(want)) {
			at := path + "." + key
			switch key {
			case "cells":
				out = append(out, unlikeCells(asList(want[key]), asList(dig(ours, key)), at)...)
			case "data":
				out = append(out, missing(want[key], dig(ours, key), nil, at)...)
			default:
				out = append(out, unlike(want[key], dig(ours, key), at)...)
			}
		}
	case []any:
		for _, item := range want {
			if event := eventOf(item); event != "" {
				if !slices.ContainsFunc(asList(ours), func(other any) bool { return eventOf(other) == event }) {
					out = append(out, fmt.Sprintf("%s has no event %s", path, event))
				}
				continue
			}
			label, named := identity(item)
			for _, other := range asList(ours) {
				if same, _ := identity(other); named && same == label && alike(item, other) {
					out = append(out, unlike(item, other, path+"["+label+"]")...)
				}
			}
		}
	}
	return out
}

// eventOf is what a row of a table of events says: its type, its reason and what it is
// about. Who tells and in which words is each hub's own.
func eventOf(row any) string {
	name, _ := dig(row, "object", "metadata", "name").(string)
	if cells := asList(dig(row, "cells")); eventRE.MatchString(name) && len(cells) > 3 {
		return fmt.Sprint(cells[1:4])
	}
	return ""
}

func unlikeCells(want, got []any, path string) (out []string) {
	if len(want) != len(got) {
		return []string{fmt.Sprintf("%s are %v, recorded %v", path, got, want)}
	}
	for i, cell := range want {
		if text := fmt.Sprint(cell); text != fmt.Sprint(got[i]) && !ageRE.MatchString(text) {
			out = append(out, fmt.Sprintf("%s[%d] is %v, recorded %v", path, i, got[i], cell))
		}
	}
	return out
}

// ofMember says whether a request is for what a member serves of itself, and not for
// what it holds.
func ofMember(uri string) bool {
	_, rest, proxied := strings.Cut(uri, "/proxy/")
	rest, _, _ = strings.Cut(rest, "?")
	return proxied && (rest == "api" || rest == "apis")
}

const (
	accountReason  = "our agent gives the hub no account in its cluster"
	startingReason = "the recorded client looked while the pods were starting, and ours start at their own pace"
	bornReason     = "a binding is born scheduled: there is one generation less"
	addressReason  = "an address is the cluster's own choice"
	podNamesReason = "the names of pods are the cluster's own choice"
	copiedReason   = "a claim of which a client copied the label alone is completed"
	appliedReason  = "kubectl's copy of what was applied to the hub stays there: an apply in the member is no change of it"
	nothingReason  = "no Work was made, so nothing tells that Works were"
	releasedReason = "an object whose policy was deleted says so in the members at once, not with its next change"
)

var propagationDeviations = []*deviation{
	{path: `/v1alpha1/clusters(/member3)?(\?|$)`, fields: []string{".secretRef is missing", ".impersonatorSecretRef is missing"}, reason: accountReason},
	{scenario: "push-propagation", method: "GET", path: `/default/deployments\?`, after: 1, times: 1, fields: []string{".cells["}, reason: startingReason},
	{scenario: "propagation-divided", method: "GET", path: `/v1/namespaces/shop/deployments/web$`, times: 1, fields: []string{".status."}, reason: startingReason},
	{path: `/resourcebindings/[^/]+$`, fields: []string{".status.schedulerObservedGeneration is "}, reason: bornReason},
	{path: `/services(\?|/web$)`, fields: []string{".spec.clusterIP", "managed-annotations is propagationpolicy.karmada.io/name,"}, reason: addressReason + "; " + copiedReason},
	{path: `/v1alpha1/works\?`, fields: []string{".rows[karmada-impersonator-"}, reason: accountReason + ", so no account there needs rights"},
	{path: `/works/web-b97f76f44$`, fields: []string{"managed-annotations is propagationpolicy.karmada.io/name,"}, reason: copiedReason},
	{path: `/proxy/api/v1/namespaces/default/pods`, fields: []string{".rows["}, reason: podNamesReason},
	{scenario: "apply-to-cluster", path: `/proxy/api/v1/namespaces/default/configmaps/applied$`, reason: appliedReason,
		fields: []string{"kubectl.kubernetes.io/last-applied-configuration is missing", "managed-annotations is propagationpolicy.karmada.io/name,"}},
	{scenario: "no-cluster-fit", path: `/events\?`, fields: []string{"has no event [Normal SyncWorkSucceed configmap/lost]"}, reason: nothingReason},
	{scenario: "policy-delete", method: "GET", path: `/propagationpolicies(/nginx-propagation$|\?allowWatch)`, skip: true, reason: letGoReason},
	{scenario: "policy-delete", path: `/proxy/apis/apps/v1/namespaces/default/deployments/nginx$`, fields: []string{"propagationpolicy.karmada.io/", "resourcetemplate.karmada.io/generation is 3"}, reason: releasedReason},
}
