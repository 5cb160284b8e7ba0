package workload

import (
	"slices"
	"strings"
	"sync"
	"time"

	"muster.dev/muster/backend/template"
	"muster.dev/muster/backend/workload/fact"
)

const (
	// pagesKept bounds the details that are kept up to date.
	pagesKept = 1000
	// pageLife is how long a detail that nobody reads any more is remembered: a
	// browser that slept may come back to it.
	pageLife = 24 * time.Hour
)

// pages are the details that somebody has opened. A detail costs more than a row,
// so that it is made only while it is read; what was missed meanwhile is made up
// for once it is read again.
type pages struct {
	now func() time.Time

	mu   sync.Mutex
	open map[template.Ref]*page
}

type page struct {
	opened time.Time
	reader string // who opened it last
	behind bool   // something changed that was not published
}

func newPages(now func() time.Time) *pages {
	return &pages{now: now, open: map[template.Ref]*page{}}
}

// opened notes that somebody looks at a detail.
func (p *pages) opened(ref template.Ref, reader string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	current := p.open[ref]
	if current == nil {
		p.makeRoom()
		current = &page{}
		p.open[ref] = current
	}
	current.opened, current.reader = p.now(), reader
}

// makeRoom forgets, with mu held, the page that was opened first.
func (p *pages) makeRoom() {
	if len(p.open) < pagesKept {
		return
	}
	var oldest template.Ref
	var since time.Time
	for ref, one := range p.open {
		if since.IsZero() || one.opened.Before(since) {
			oldest, since = ref, one.opened
		}
	}
	delete(p.open, oldest)
}

// behind notes that a workload changed.
func (p *pages) behind(ref template.Ref) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if current := p.open[ref]; current != nil {
		current.behind = true
	}
}

// allBehind notes a change that may be of any workload.
func (p *pages) allBehind() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, current := range p.open {
		current.behind = true
	}
}

// due is a detail to publish, and for whom.
type due struct {
	ref    template.Ref
	reader string
}

// take returns the details that are behind and read; they count as up to date
// from then on, so that what changes while they are made is not lost.
func (p *pages) take(watched func(template.Ref) bool) []due {
	p.mu.Lock()
	defer p.mu.Unlock()
	var dues []due
	for ref, current := range p.open {
		switch {
		case current.behind && watched(ref):
			current.behind, current.opened = false, p.now()
			dues = append(dues, due{ref, current.reader})
		case p.now().Sub(current.opened) > pageLife:
			delete(p.open, ref)
		}
	}
	slices.SortFunc(dues, func(a, b due) int { return strings.Compare(fact.ID(a.ref), fact.ID(b.ref)) })
	return dues
}
