package workload

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/backend/httpapi"
	"muster.dev/muster/backend/workload/fact"
)

func names(rows []Row) []string {
	all := []string{}
	for i := range rows {
		all = append(all, rows[i].Name)
	}
	return all
}

func fleet() []*Row {
	held := &fact.PolicyRef{Kind: "PropagationPolicy", Resource: "propagationpolicies", Namespace: "shop", Name: "web"}
	return []*Row{
		{ID: "apps/v1/Deployment/shop/web", Kind: "Deployment", Namespace: "shop", Name: "web", State: StateOK, Policy: held, Images: []string{"nginx:1.20"},
			Clusters: []PlacedCluster{{Name: "m1"}, {Name: "m2"}}, Replicas: &Replicas{Wanted: 4, Ready: 4}, CreatedAt: time.Unix(30, 0)},
		{ID: "apps/v1/Deployment/shop/api", Kind: "Deployment", Namespace: "shop", Name: "api", State: StateFailed, Policy: held, Clusters: []PlacedCluster{{Name: "m2"}},
			Replicas: &Replicas{Wanted: 2, Ready: 1}, CreatedAt: time.Unix(10, 0)},
		{ID: "core/v1/ConfigMap/infra/api", Kind: "ConfigMap", Namespace: "infra", Name: "api", State: StatePending, Clusters: []PlacedCluster{{Name: "m1"}}, CreatedAt: time.Unix(20, 0)},
		{ID: "batch/v1/Job/infra/once", Kind: "Job", Namespace: "infra", Name: "once", State: StateUnmanaged, CreatedAt: time.Unix(40, 0)},
		{ID: "apps/v1/Deployment/infra/stuck", Kind: "Deployment", Namespace: "infra", Name: "stuck", State: StateUnscheduled, CreatedAt: time.Unix(50, 0)},
	}
}

func TestQuery(t *testing.T) {
	for name, test := range map[string]struct {
		query Query
		want  []string
	}{
		"all with a policy": {Query{}, []string{"api", "api", "stuck", "web"}},
		"all":               {Query{All: true}, []string{"api", "api", "once", "stuck", "web"}},
		"namespace":         {Query{Namespaces: []string{"shop"}}, []string{"api", "web"}},
		"kind":              {Query{Kinds: []string{"configmap"}}, []string{"api"}},
		"policy":            {Query{Policy: "web"}, []string{"api", "web"}},
		"policy by path":    {Query{Policy: "propagationpolicies/shop/web"}, []string{"api", "web"}},
		"another policy":    {Query{Policy: "clusterpropagationpolicies/-/web"}, []string{}},
		"cluster":           {Query{Clusters: []string{"m1", "m3"}}, []string{"api", "web"}},
		"state":             {Query{States: []string{"failed", "unscheduled"}}, []string{"api", "stuck"}},
		"image":             {Query{Text: " NGINX:1 "}, []string{"web"}},
		"policy's name":     {Query{Text: "we"}, []string{"api", "web"}},
		"age":               {Query{Sort: "age"}, []string{"stuck", "web", "api", "api"}},
		"severity":          {Query{Sort: "state"}, []string{"api", "stuck", "api", "web"}},
		"readiness":         {Query{Sort: "replicas", Kinds: []string{"Deployment"}}, []string{"stuck", "api", "web"}},
		"clusters":          {Query{Sort: "-clusters"}, []string{"web", "api", "api", "stuck"}},
		"namespace order":   {Query{Sort: "-namespace"}, []string{"web", "api", "stuck", "api"}},
	} {
		t.Run(name, func(t *testing.T) {
			test.query.Limit = 10
			if err := test.query.prepare(); err != nil {
				t.Fatal(err)
			}
			listing := test.query.apply(fleet())
			if diff := cmp.Diff(test.want, names(listing.Rows)); diff != "" || listing.Total != len(test.want) || listing.Next != nil {
				t.Errorf("total %d, next %v (-want +got):\n%s", listing.Total, listing.Next, diff)
			}
		})
	}
}

func TestCountsLeaveTheStateOut(t *testing.T) {
	query := Query{States: []string{"ok"}, Limit: 10, All: true}
	if err := query.prepare(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Counts{OK: 1, Failed: 1, Pending: 1, Unscheduled: 1, Unmanaged: 1}, query.apply(fleet()).Counts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPages walks many rows page by page, in every order: each comes once.
func TestPages(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var rows []*Row
	for i := range 57 {
		rows = append(rows, &Row{
			ID: fmt.Sprintf("apps/v1/Deployment/n%d/w%d", i%3, i), Name: fmt.Sprintf("w%d", random.IntN(5)), Namespace: fmt.Sprintf("n%d", i%3), Kind: "Deployment",
			State: States[random.IntN(len(States))], CreatedAt: time.Unix(random.Int64N(9), 0), Clusters: make([]PlacedCluster, random.IntN(3)),
		})
	}
	for key := range order.By {
		for _, sort := range []string{key, "-" + key} {
			seen, after := map[string]int{}, httpapi.Position{}
			for {
				query := Query{All: true, Sort: sort, Limit: 5, After: after}
				if err := query.prepare(); err != nil {
					t.Fatal(err)
				}
				listing := query.apply(rows)
				for i := range listing.Rows {
					seen[listing.Rows[i].ID]++
				}
				if listing.Next == nil {
					break
				}
				after = *listing.Next
			}
			if len(seen) != len(rows) {
				t.Errorf("%s: %d rows of %d", sort, len(seen), len(rows))
			}
			for id, times := range seen {
				if times != 1 {
					t.Errorf("%s: %s came %d times", sort, id, times)
				}
			}
		}
	}
}

func TestCursorOfAnotherOrder(t *testing.T) {
	query := Query{Sort: "age", After: httpapi.Position{Sort: "name", Key: "x"}}
	if query.prepare() == nil {
		t.Error("the cursor fits every order")
	}
}
