package component

import "strings"

// originals are the images that the schema of ClusterManager fills in, and those that clusteradm writes into a Klusterlet. Our components
// are not in them.
const originals = "quay.io/open-cluster-management/"

// Image decides which image runs: wanted, unless it is empty or one of the original project's, which means ours. foreign says that the
// latter was asked for by name and cannot be honoured.
func Image(wanted, ours string) (image string, foreign bool) {
	name, isOriginal := strings.CutPrefix(wanted, originals)
	switch {
	case wanted == "":
		return ours, false
	case !isOriginal:
		return wanted, false
	}
	// Without tag or digest it is the schema's default, which nobody has chosen.
	return ours, strings.ContainsAny(name, ":@")
}
