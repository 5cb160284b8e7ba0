package main

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// object is one key of the storage with its value.
type object struct{ key, value string }

// eventsRoot begins the keys of Events.
const eventsRoot = "/registry/events/"

var (
	uids     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	numbered = regexp.MustCompile(`^(.*?)([0-9]+)$`)
)

// original is what a hub keeps of one cluster.
type original struct {
	cluster string
	objects []object
	ids     []string // that no other object has
}

// newOriginal picks the objects of a cluster, whose keys name it, out of all.
func newOriginal(cluster string, all []object) (original, error) {
	o := original{cluster: cluster}
	strange := map[string]bool{}
	var found []string
	for _, stored := range all {
		if strings.Contains(stored.key, cluster) {
			if !strings.HasPrefix(stored.key, eventsRoot) {
				o.objects = append(o.objects, stored)
				found = append(found, uids.FindAllString(stored.value, -1)...)
			}
			continue
		}
		for _, id := range uids.FindAllString(stored.value, -1) {
			strange[id] = true
		}
	}
	if len(o.objects) == 0 {
		return o, fmt.Errorf("nothing is stored of %s", cluster)
	}
	slices.Sort(found)
	for _, id := range slices.Compact(found) {
		if !strange[id] {
			o.ids = append(o.ids, id)
		}
	}
	return o, nil
}

// name is that of the cluster with a number; it is as long as the original's, because
// stored objects tell the lengths of what they hold.
func (o original) name(number int) (string, error) {
	parts := numbered.FindStringSubmatch(o.cluster)
	if parts == nil {
		return "", fmt.Errorf("the name %s does not end with a number", o.cluster)
	}
	name := fmt.Sprintf("%s%0*d", parts[1], len(parts[2]), number)
	if len(name) != len(o.cluster) {
		return "", fmt.Errorf("%s has no room for the number %s", o.cluster, strconv.Itoa(number))
	}
	return name, nil
}

// copies are the objects under another name.
func (o original) copies(name string) []object {
	words := []string{o.cluster, name}
	for _, id := range o.ids {
		sum := fmt.Sprintf("%x", sha256.Sum256([]byte(id+name)))
		words = append(words, id, sum[:8]+"-"+sum[8:12]+"-4"+sum[13:16]+"-8"+sum[17:20]+"-"+sum[20:32])
	}
	replace := strings.NewReplacer(words...)
	made := make([]object, len(o.objects))
	for i, stored := range o.objects {
		made[i] = object{replace.Replace(stored.key), replace.Replace(stored.value)}
	}
	return made
}
