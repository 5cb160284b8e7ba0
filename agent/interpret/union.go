package interpret

import (
	"context"
	"slices"
	"strings"
)

// union asks several customizations of one kind what an object needs, and answers
// with all of it.
type union struct{ scripts []*script }

// ask implements rule. One script that fails fails all: a part would take away
// what the rest still needs.
func (u *union) ask(ctx context.Context, q *Question) (*Answer, error) {
	all := &Answer{}
	var printed []string
	for _, s := range u.scripts {
		a, err := s.ask(ctx, q)
		if err != nil {
			return nil, err
		}
		all.Dependencies = append(all.Dependencies, a.Dependencies...)
		if a.Printed != "" {
			printed = append(printed, a.Printed)
		}
	}
	all.Printed = strings.Join(printed, "\n")
	return all, checkDependencies(all)
}

// scriptsOf are those a rule consists of.
func scriptsOf(r rule) []*script {
	switch r := r.(type) {
	case *script:
		return []*script{r}
	case *union:
		return r.scripts
	}
	return nil
}

// kept is the script that a rule has already, with what is known of its failures,
// or else the new one.
func kept(old rule, s *script) *script {
	known := scriptsOf(old)
	if i := slices.IndexFunc(known, func(k *script) bool { return k.source == s.source && k.code == s.code }); i >= 0 {
		return known[i]
	}
	return s
}
