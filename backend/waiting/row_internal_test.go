package waiting

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	"muster.dev/muster/backend/consent"
	"muster.dev/muster/backend/fault"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func condition(kind string, status metav1.ConditionStatus, reason string, at time.Time) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, LastTransitionTime: metav1.NewTime(at)}
}

func introduced(accepted bool, conditions ...metav1.Condition) *ocmv1.ManagedCluster {
	return &ocmv1.ManagedCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "edge", CreationTimestamp: metav1.NewTime(noon), Annotations: map[string]string{consent.AnnotationCreator: "ann"}},
		Spec:       ocmv1.ManagedClusterSpec{HubAcceptsClient: accepted, ManagedClusterClientConfigs: []ocmv1.ClientConfig{{URL: "https://edge:6443"}}},
		Status:     ocmv1.ManagedClusterStatus{Conditions: conditions},
	}
}

func asked(name, state string, after time.Duration) Request {
	row := Request{Name: name, Cluster: "edge", State: state, Requester: "ann", CreatedAt: noon.Add(after)}
	if state != CertificatePending {
		at := row.CreatedAt.Add(time.Minute)
		row.DecidedAt = &at
	}
	return row
}

// TestCompose tells what a row waits for in each order of the two consents.
func TestCompose(t *testing.T) {
	t.Parallel()
	acceptedAt := condition(ocmv1.ConditionHubAccepted, metav1.ConditionTrue, ocmv1.ReasonAccepted, noon.Add(time.Hour))
	deniedAt := condition(ocmv1.ConditionHubAccepted, metav1.ConditionFalse, ocmv1.ReasonDenied, noon.Add(2*time.Hour))
	joined := condition(ocmv1.ConditionJoined, metav1.ConditionTrue, ocmv1.ReasonJoined, noon.Add(time.Hour))
	available := func(status metav1.ConditionStatus) metav1.Condition {
		return condition(ocmv1.ConditionAvailable, status, "x", noon.Add(time.Hour))
	}
	refused := introduced(false)
	refused.Annotations[consent.AnnotationDeniedAt], refused.Annotations[consent.AnnotationDeniedBy] = noon.Add(3*time.Hour).Format(time.RFC3339), "ada"
	improper, renewal := asked("r2", CertificatePending, time.Hour), asked("r3", CertificatePending, time.Hour)
	improper.Problem, renewal.Renewal = "is odd", true
	doneRenewal := asked("r4", CertificateIssued, 100*time.Hour)
	doneRenewal.Renewal = true
	type result struct {
		Next, Certificate string
		Waits, Denied     bool
		Until             time.Duration // after noon; 0 for ever
	}
	for name, test := range map[string]struct {
		cluster  *ocmv1.ManagedCluster
		requests []Request
		want     result
	}{
		"just arrived":            {introduced(false), []Request{asked("r1", CertificatePending, 0)}, result{Next: NextBoth, Certificate: CertificatePending, Waits: true}},
		"request alone":           {nil, []Request{asked("r1", CertificatePending, 0)}, result{Next: NextCertificate, Certificate: CertificatePending, Waits: true}},
		"cluster alone":           {introduced(false), nil, result{Next: NextAcceptance, Certificate: CertificateNone, Waits: true}},
		"certificate first":       {introduced(false), []Request{asked("r1", CertificateIssued, 0)}, result{Next: NextAcceptance, Certificate: CertificateIssued, Waits: true}},
		"acceptance first":        {introduced(true, acceptedAt), []Request{asked("r1", CertificatePending, 0)}, result{Next: NextCertificate, Certificate: CertificatePending, Waits: true}},
		"accepted beforehand":     {introduced(true), nil, result{Next: NextAgent, Certificate: CertificateNone, Until: 24 * time.Hour}},
		"both":                    {introduced(true, acceptedAt), []Request{asked("r1", CertificateIssued, 0)}, result{Next: NextJoin, Certificate: CertificateIssued, Until: 25 * time.Hour}},
		"joined":                  {introduced(true, acceptedAt, joined), []Request{asked("r1", CertificateIssued, 0)}, result{Next: NextAvailable, Certificate: CertificateIssued, Until: 25 * time.Hour}},
		"well":                    {introduced(true, acceptedAt, joined, available(metav1.ConditionTrue)), nil, result{Next: NextNone, Certificate: CertificateIssued, Until: 25 * time.Hour}},
		"lost":                    {introduced(true, acceptedAt, joined, available(metav1.ConditionUnknown)), nil, result{Next: NextAvailable, Certificate: CertificateIssued, Until: 25 * time.Hour}},
		"denied after acceptance": {introduced(false, deniedAt, joined), nil, result{Next: NextNone, Certificate: CertificateIssued, Denied: true, Until: 26 * time.Hour}},
		"denial under way":        {introduced(false, acceptedAt, joined), nil, result{Next: NextNone, Certificate: CertificateIssued, Denied: true, Until: 25 * time.Hour}},
		"denied at the door":      {refused, []Request{asked("r1", CertificateDenied, 0)}, result{Next: NextNone, Certificate: CertificateDenied, Denied: true, Until: 27 * time.Hour}},
		"denied, and asks again":  {refused, []Request{asked("r1", CertificateDenied, 0), asked("r2", CertificatePending, time.Hour)}, result{Next: NextNone, Certificate: CertificatePending, Denied: true}},
		"request denied":          {introduced(false), []Request{asked("r1", CertificateDenied, 0)}, result{Next: NextAcceptance, Certificate: CertificateDenied, Waits: true}},
		"improper request":        {introduced(true, acceptedAt, joined, available(metav1.ConditionTrue)), []Request{improper}, result{Next: NextNone, Certificate: CertificateIssued}},
		"renewal that waits":      {introduced(true, acceptedAt, joined, available(metav1.ConditionTrue)), []Request{renewal}, result{Next: NextCertificate, Certificate: CertificateIssued, Waits: true}},
		"renewal is no news":      {introduced(true, acceptedAt, joined, available(metav1.ConditionTrue)), []Request{doneRenewal}, result{Next: NextNone, Certificate: CertificateIssued, Until: 25 * time.Hour}},
		"agent began anew":        {introduced(true, acceptedAt), []Request{asked("r1", CertificatePending, 0), asked("r2", CertificateIssued, time.Hour)}, result{Next: NextJoin, Certificate: CertificateIssued, Until: 25*time.Hour + time.Minute}},
		"anew within a second":    {introduced(true, acceptedAt), []Request{asked("r1", CertificatePending, 0), asked("r2", CertificateIssued, 0)}, result{Next: NextJoin, Certificate: CertificateIssued, Until: 25 * time.Hour}},
		"joined, and a new key":   {introduced(true, acceptedAt, joined, available(metav1.ConditionTrue)), []Request{asked("r1", CertificatePending, time.Hour)}, result{Next: NextCertificate, Certificate: CertificatePending, Waits: true}},
	} {
		t.Run(name, func(t *testing.T) {
			made := compose("edge", test.cluster, test.requests)
			got := result{Next: made.row.Next, Certificate: made.row.Certificate, Waits: made.row.Waits, Denied: made.row.Denied}
			if !made.until.IsZero() {
				got.Until = made.until.Sub(noon)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("row (-want +got):\n%s", diff)
			}
		})
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	other, improper := asked("r9", CertificatePending, -time.Hour), asked("r8", CertificatePending, time.Hour)
	other.Requester, improper.Problem = "mallory", "is odd"
	for name, test := range map[string]struct {
		requests []Request
		want     string
		code     string
	}{
		"one":               {[]Request{asked("r1", CertificatePending, 0)}, "r1", ""},
		"the newest":        {[]Request{asked("r1", CertificatePending, 0), asked("r2", CertificatePending, time.Hour)}, "r2", ""},
		"not an odd one":    {[]Request{asked("r1", CertificatePending, 0), improper}, "r1", ""},
		"none":              {[]Request{asked("r1", CertificateIssued, 0)}, "", CodeNoRequest},
		"not the left one":  {[]Request{asked("r1", CertificatePending, 0), asked("r2", CertificateIssued, time.Hour)}, "", CodeNoRequest},
		"not among several": {[]Request{asked("r1", CertificatePending, 0), other}, "", CodeSeveralRequesters},
	} {
		t.Run(name, func(t *testing.T) {
			row := compose("edge", introduced(false), test.requests).row
			got, err := row.Choose()
			known, _ := fault.As(err)
			if got != test.want || (known == nil) != (test.code == "") || known != nil && known.Code != test.code {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestHostedName(t *testing.T) {
	t.Parallel()
	long := "a-cluster-whose-name-is-as-long-as-a-namespace-can-be-abcdefghi"
	names := []string{hostedName("edge"), hostedName(long), hostedName(long[:len(long)-1] + "j")}
	if names[0] != "klusterlet-edge" || len(names[1]) > maxNamespace || names[1] == names[2] {
		t.Errorf("got %q", names)
	}
}

// TestHeld tells what holds a request up only as long as it does.
func TestHeld(t *testing.T) {
	t.Parallel()
	rule, unsigned := "IdentityInUse: it works under another key", "SignerMissing: nobody signs"
	for _, test := range []struct{ state, why, want string }{
		{CertificatePending, rule, rule},
		{CertificatePending, "", ""},
		{CertificateApproved, rule, ""},
		{CertificateApproved, unsigned, unsigned},
		{CertificateIssued, unsigned, ""},
		{CertificateDenied, rule, ""},
	} {
		if got := held(test.state, test.why); got != test.want {
			t.Errorf("%s, %q: %q, want %q", test.state, test.why, got, test.want)
		}
	}
}
