package waiting

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"muster.dev/muster/backend/access"
	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
	"muster.dev/muster/backend/audit"
	"muster.dev/muster/backend/consent"
	"muster.dev/muster/backend/database"
	"muster.dev/muster/backend/database/databasetest"
	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/live"
)

func TestRuleValidate(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		rule  Rule
		field string // that is wrong; empty: none
	}{
		"identity":              {Rule{Kind: RuleIdentity, Value: consent.BootstrapUser, Approve: true}, ""},
		"label":                 {Rule{Kind: RuleTokenLabel, Value: "env=lab,tier=edge", Accept: true}, ""},
		"pattern":               {Rule{Kind: RuleClusterName, Value: "edge-*", Approve: true, Accept: true}, ""},
		"every name":            {Rule{Kind: RuleClusterName, Value: "*", Approve: true}, ""},
		"no kind":               {Rule{Value: "x", Approve: true}, "kind"},
		"nothing given":         {Rule{Kind: RuleIdentity, Value: "x"}, "approve"},
		"no value":              {Rule{Kind: RuleIdentity, Approve: true}, "value"},
		"blank around":          {Rule{Kind: RuleIdentity, Value: " x", Approve: true}, "value"},
		"everybody":             {Rule{Kind: RuleIdentity, Value: "system:anonymous", Approve: true}, "value"},
		"label without value":   {Rule{Kind: RuleTokenLabel, Value: "env", Approve: true}, "value"},
		"label that is missing": {Rule{Kind: RuleTokenLabel, Value: "env!=lab", Approve: true}, "value"},
		"pattern of a range":    {Rule{Kind: RuleClusterName, Value: "edge-[0-9]", Approve: true}, "value"},
		"long":                  {Rule{Kind: RuleIdentity, Value: strings.Repeat("x", 254), Approve: true}, "value"},
		"long note":             {Rule{Kind: RuleIdentity, Value: "x", Note: strings.Repeat("x", 257), Approve: true}, "note"},
		"two lines":             {Rule{Kind: RuleIdentity, Value: "x", Note: "a\nb", Approve: true}, "value"},
	} {
		t.Run(name, func(t *testing.T) {
			err := test.rule.Validate()
			known, _ := fault.As(err)
			switch {
			case test.field == "" && err != nil:
				t.Errorf("refused: %v", err)
			case test.field != "" && (known == nil || known.Kind != fault.KindInvalid || len(known.Fields) != 1 || known.Fields[0].Field != test.field):
				t.Errorf("got %+v, want a refusal of %s", err, test.field)
			}
		})
	}
}

func TestRuleFits(t *testing.T) {
	t.Parallel()
	lab := map[string]string{"env": "lab", "tier": "edge"}
	for name, test := range map[string]struct {
		rule Rule
		who  candidate
		want bool
	}{
		"same identity":         {Rule{Kind: RuleIdentity, Value: "ann"}, candidate{identity: "ann"}, true},
		"part of an identity":   {Rule{Kind: RuleIdentity, Value: "ann"}, candidate{identity: "anna"}, false},
		"no pattern":            {Rule{Kind: RuleIdentity, Value: "a*"}, candidate{identity: "ann"}, false},
		"all labels":            {Rule{Kind: RuleTokenLabel, Value: "env=lab,tier=edge"}, candidate{token: lab}, true},
		"one label":             {Rule{Kind: RuleTokenLabel, Value: "env=lab"}, candidate{token: lab}, true},
		"another value":         {Rule{Kind: RuleTokenLabel, Value: "env=prod"}, candidate{token: lab}, false},
		"no token":              {Rule{Kind: RuleTokenLabel, Value: "env=lab"}, candidate{identity: "ann"}, false},
		"name":                  {Rule{Kind: RuleClusterName, Value: "edge-7"}, candidate{cluster: "edge-7"}, true},
		"beginning":             {Rule{Kind: RuleClusterName, Value: "edge-*"}, candidate{cluster: "edge-7"}, true},
		"one character":         {Rule{Kind: RuleClusterName, Value: "edge-?"}, candidate{cluster: "edge-77"}, false},
		"in the middle":         {Rule{Kind: RuleClusterName, Value: "edge-*"}, candidate{cluster: "my-edge-7"}, false},
		"an identity of a name": {Rule{Kind: RuleClusterName, Value: "ann"}, candidate{identity: "ann"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.rule.fits(test.who); got != test.want {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// newBook returns a Book that runs until the test ends, its rules read.
func newBook(t *testing.T, db *database.DB, flags ...Rule) *Book {
	t.Helper()
	hub := live.NewHub()
	book, err := NewBook(BookOptions{
		DB: db, Live: hub, Audit: audit.NewService(db, hub), Flags: flags,
		TokenLabels: func(_ context.Context, id string) map[string]string {
			return map[string]map[string]string{"abcdef": {"env": "lab"}}[id]
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- book.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	await(t, "the rules are read", func() bool { return book.Ready() == nil })
	return book
}

func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) { return holds(), nil })
	if err != nil {
		t.Fatalf("wait until %s: %v", what, err)
	}
}

func asRole(t *testing.T, role access.Role) context.Context {
	t.Helper()
	return access.WithActor(t.Context(), access.Actor{Name: "ada", Role: role})
}

func asking(cluster, user string) consent.Request {
	return consent.Request{Cluster: cluster, Fingerprint: "SHA256:" + cluster, Requester: authenticationv1.UserInfo{Username: user}}
}

func TestBook(t *testing.T) {
	databasetest.Each(t, func(t *testing.T, db *database.DB) {
		databasetest.CheckRow(t, db, &ruleRow{})
		book := newBook(t, db)
		if _, ok := book.Match(asking("edge-1", "ann"), nil); ok {
			t.Error("an empty book lets somebody in")
		}
		if _, err := book.Add(asRole(t, access.RoleOperator), Rule{Kind: RuleIdentity, Value: "ann", Approve: true}); !fault.Is(err, fault.KindForbidden) {
			t.Errorf("an operator made a rule: %v", err)
		}
		admin := asRole(t, access.RoleAdmin)
		made, err := book.Add(admin, Rule{Kind: RuleIdentity, Value: "ann", Approve: true, ID: "mine", Source: RuleFromFlag, Uses: 7})
		if err != nil {
			t.Fatal(err)
		}
		if made.ID == "mine" || made.Source != RuleFromDashboard || made.CreatedBy != "ada" || made.Uses != 0 {
			t.Errorf("made %+v", made)
		}
		if _, err := book.Add(admin, Rule{Kind: RuleIdentity, Value: "ann", Accept: true}); !fault.Is(err, fault.KindConflict) {
			t.Errorf("the same again: %v", err)
		}
		if _, err := book.Add(admin, Rule{Kind: RuleTokenLabel, Value: "env=lab", Approve: true, Accept: true}); err != nil {
			t.Fatal(err)
		}
		cluster := &ocmv1.ManagedCluster{ObjectMeta: metav1.ObjectMeta{Name: "edge-1", UID: types.UID("u1")}}
		renewal, improper := asking("edge-1", "ann"), asking("edge-1", "ann")
		renewal.Renewal, improper.Problem = true, "is odd"
		type answer struct {
			Rule string
			OK   bool
		}
		answers := map[string]answer{}
		note := func(name string) func(string, bool) {
			return func(rule string, ok bool) { answers[name] = answer{rule, ok} }
		}
		note("approved")(book.Match(asking("edge-1", "ann"), nil))
		note("approved, asked again")(book.Match(asking("edge-1", "ann"), nil))
		note("another")(book.Match(asking("edge-1", "bob"), nil))
		note("renewal")(book.Match(renewal, nil))
		note("improper")(book.Match(improper, nil))
		note("by label given")(book.Match(asking("edge-2", "system:bootstrap:xxxxxx"), map[string]string{"env": "lab"}))
		note("by label looked up")(book.Match(asking("edge-3", "system:bootstrap:abcdef"), nil))
		note("not accepted")(book.Accepts(cluster, "ann"))
		note("accepted")(book.Accepts(cluster, "system:bootstrap:abcdef"))
		want := map[string]answer{
			"approved": {"identity ann", true}, "approved, asked again": {"identity ann", true}, "another": {}, "renewal": {}, "improper": {},
			"by label given": {"token-label env=lab", true}, "by label looked up": {"token-label env=lab", true},
			"not accepted": {}, "accepted": {"token-label env=lab", true},
		}
		if diff := cmp.Diff(want, answers); diff != "" {
			t.Errorf("answers (-want +got):\n%s", diff)
		}
		var uses []int64
		await(t, "uses are stored", func() bool {
			rules, err := book.List(asRole(t, access.RoleViewer))
			if err != nil {
				t.Fatal(err)
			}
			uses = uses[:0]
			for _, r := range rules {
				uses = append(uses, r.Uses)
			}
			return cmp.Equal([]int64{1, 3}, uses)
		})
		if err := book.Remove(admin, made.ID); err != nil {
			t.Fatal(err)
		}
		if _, ok := book.Match(asking("edge-9", "ann"), nil); ok {
			t.Error("a removed rule lets somebody in")
		}
		if err := book.Remove(admin, made.ID); !fault.Is(err, fault.KindNotFound) {
			t.Errorf("removed twice: %v", err)
		}
	})
}

// TestBookFlags starts a hub with rules on the command line, and then without.
func TestBookFlags(t *testing.T) {
	t.Parallel()
	db := databasetest.Open(t)
	admin := asRole(t, access.RoleAdmin)
	first := newBook(t, db)
	own, err := first.Add(admin, Rule{Kind: RuleClusterName, Value: "lab-*", Accept: true})
	if err != nil {
		t.Fatal(err)
	}
	second := newBook(t, db, Rule{Kind: RuleIdentity, Value: consent.BootstrapUser, Approve: true})
	if rule, ok := second.Match(asking("edge-1", consent.BootstrapUser), nil); !ok || rule != "identity "+consent.BootstrapUser {
		t.Errorf("got %q %v", rule, ok)
	}
	rules, err := second.List(admin)
	if err != nil || len(rules) != 2 || rules[1].Source != RuleFromFlag {
		t.Fatalf("got %+v, %v", rules, err)
	}
	if err := second.Remove(admin, rules[1].ID); !fault.Is(err, fault.KindConflict) {
		t.Errorf("a rule of the command line was removed: %v", err)
	}
	third := newBook(t, db)
	if rules, err = third.List(admin); err != nil || len(rules) != 1 || rules[0].ID != own.ID {
		t.Errorf("without the flag: %+v, %v", rules, err)
	}
	if _, err := NewBook(BookOptions{DB: db, Flags: []Rule{{Kind: RuleIdentity, Value: "x"}}}); err == nil {
		t.Error("a senseless rule of the command line was taken")
	}
}

// TestBookTells calls those who keep somebody waiting once there is a rule.
func TestBookTells(t *testing.T) {
	t.Parallel()
	db := databasetest.Open(t)
	book := newBook(t, db)
	told := make(chan struct{}, 8)
	book.OnChange(func() { told <- struct{}{} })
	if _, err := book.Add(asRole(t, access.RoleAdmin), Rule{Kind: RuleIdentity, Value: "ann", Approve: true}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-told:
	case <-t.Context().Done():
		t.Fatal("nobody was told")
	}
}
