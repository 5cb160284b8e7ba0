package deploy

import (
	"embed"
	"io/fs"
)

//go:embed external
var external embed.FS

// Webhooks returns the webhook configurations by which an existing Kubernetes API asks the hub for admission, without where the hub is.
func Webhooks() fs.FS { return sub(external, "external/webhooks") }

// ExternalRBAC is the manifest of the rights that the hub's ServiceAccount needs on an existing Kubernetes API.
func ExternalRBAC() []byte {
	data, err := external.ReadFile("external/rbac.yaml")
	if err != nil {
		panic(err) // it is named by the embed directive above
	}
	return data
}
