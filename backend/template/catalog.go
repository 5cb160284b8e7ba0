package template

import (
	"strings"

	"muster.dev/muster/backend/template/catalog"
)

// The catalog of templates, under the names by which others know it.
type (
	// Ref names a template.
	Ref = catalog.Ref
	// Cache holds the templates of the hub.
	Cache = catalog.Cache
	// CacheOptions say what a Cache holds.
	CacheOptions = catalog.CacheOptions
	// Scope says which objects of the hub are templates.
	Scope = catalog.Scope
)

var (
	// RefOf names an object.
	RefOf = catalog.RefOf
	// NewCache returns a cache of an API.
	NewCache = catalog.NewCache
	// NewScope returns a Scope.
	NewScope = catalog.NewScope
	// ReservedNamespace says whether a namespace belongs to the hub itself.
	ReservedNamespace = catalog.ReservedNamespace
	// DefaultSkippedNamespaces are the namespaces that nothing is propagated from
	// unless an operator says otherwise (contract section 3.1).
	DefaultSkippedNamespaces = catalog.DefaultSkippedNamespaces
)

// ocmClusterLabel is on the namespaces that Open Cluster Management makes for its
// clusters.
const ocmClusterLabel = "open-cluster-management.io/cluster-name"

// BindingName is the name of the binding of a template, as clients compute it
// (contract section 3.2).
func BindingName(name, kind string) string {
	return strings.ToLower(strings.ReplaceAll(name+"-"+kind, ":", "."))
}
