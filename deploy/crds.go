package deploy

import (
	"cmp"
	"embed"
	"errors"
	"io/fs"
	"slices"
)

//go:embed crds/*.yaml crds/ocm-hub crds/ocm-member crds/ocm-operator
var crds embed.FS

// CRDs returns what a hub installs where it serves both dialects: KarmadaCRDs, HubCRDs and ClusterManager, by which clients tell a hub and
// learn of its state. All definitions are generated from backend/apis, one file each.
func CRDs() fs.FS { return layers{KarmadaCRDs(), HubCRDs(), only{OperatorCRDs(), clusterManagerCRD}} }

// KarmadaCRDs returns the definitions of the Karmada groups that the hub does not serve with its own code.
func KarmadaCRDs() fs.FS { return topLevel{sub(crds, "crds")} }

// HubCRDs returns the definitions of Open Cluster Management's kinds that clients find on a hub: clusters and their sets, placements,
// works, add-ons. On an external plane these alone are installed.
func HubCRDs() fs.FS { return sub(crds, "crds/ocm-hub") }

// MemberCRDs returns the definitions that a managed cluster has: AppliedManifestWork and ClusterClaim.
func MemberCRDs() fs.FS { return sub(crds, "crds/ocm-member") }

// OperatorCRDs returns the definitions of what the operator is told to install: ClusterManager and Klusterlet.
func OperatorCRDs() fs.FS { return sub(crds, "crds/ocm-operator") }

const clusterManagerCRD = "operator.open-cluster-management.io_clustermanagers.yaml"

// only shows one file of a directory.
type only struct {
	fs.FS
	name string
}

// Open opens that file, or the directory.
func (o only) Open(name string) (fs.File, error) {
	if name != o.name && name != "." {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return o.FS.Open(name)
}

// ReadDir lists that file.
func (o only) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(o.FS, name)
	return slices.DeleteFunc(entries, func(entry fs.DirEntry) bool { return entry.Name() != o.name }), err
}

// topLevel shows the files of a directory and none of its folders.
type topLevel struct{ fs.FS }

// ReadDir lists the files.
func (t topLevel) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(t.FS, name)
	return slices.DeleteFunc(entries, fs.DirEntry.IsDir), err
}

// layers shows several directories as one. No two of them have a file of the same name.
type layers []fs.FS

// Open opens the file in the first directory that has it.
func (l layers) Open(name string) (fs.File, error) {
	for _, layer := range l {
		file, err := layer.Open(name)
		if !errors.Is(err, fs.ErrNotExist) {
			return file, err
		}
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// ReadDir lists the files of all directories by name.
func (l layers) ReadDir(name string) ([]fs.DirEntry, error) {
	var all []fs.DirEntry
	for _, layer := range l {
		entries, err := fs.ReadDir(layer, name)
		if err != nil {
			return nil, err
		}
		all = append(all, entries...)
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return all, nil
}
