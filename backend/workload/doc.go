// Package workload tells what runs where: every template of the hub that is
// propagated, with its policy, its binding, its Works and what the members
// report, and what a policy would do before it is saved.
//
//		policy ──► template ──► binding ──► work ──► object ──► pods
//		  │                        │          └── one of each per cluster ──┘
//		  └── template.Choose      └── scheduling.Decide
//
//	  - Nothing here is stored: rows are a projection of what the manager's cache
//	    and the template cache hold, brought up to date by their events only.
//	  - A change marks the one row it is about; marked rows are made anew and
//	    published together, a moment later, if they differ from what was published.
//	  - What a preview says comes from the code that the controllers run:
//	    template.Choose, template.NewBinding, scheduling.Decide, override.Apply.
//	  - Only author, below, writes. Whoever may view may read it all: the role of a viewer
//	    may read bindings and Works, which hold what is shown. Values of Secrets
//	    are shown as their length. A preview, which may mean any object, shows
//	    only kinds that the actor may list.
//	  - Every sentence carries a code and its parameters, so that the dashboard can
//	    say it in another language. Codes never change once released.
//
// Below it: fact holds the sentences, manifest shows objects and hides secrets,
// draft reads policies that are not saved, preview tells what they would do, pods
// looks into members, author writes templates for people.
package workload
