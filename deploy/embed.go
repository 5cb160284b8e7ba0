// Package deploy embeds what is installed into API servers: the custom resource definitions for the hub and the manifests that join a
// member. Only the wiring in backend/app and the programs in cmd import it; everything else takes an fs.FS.
package deploy

import (
	"embed"
	"io/fs"
)

// The directory as a whole, so that a clone compiles whatever it holds.
//
//go:embed all:join
var join embed.FS

// The manifests that the operators apply, as templates.
//
//go:embed operator/agent operator/hub
var operator embed.FS

// Join returns the templates of what is created in a member cluster that joins.
func Join() fs.FS { return sub(join, "join") }

// Operator returns the templates of what the operators apply: hub/ for a ClusterManager, agent/ for a Klusterlet.
func Operator() fs.FS { return sub(operator, "operator") }

// sub cannot fail: the directories are named by the embed directives above.
func sub(files embed.FS, dir string) fs.FS {
	rooted, err := fs.Sub(files, dir)
	if err != nil {
		panic(err)
	}
	return rooted
}
