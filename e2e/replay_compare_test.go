package e2e_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// volatile keys are compared for presence only.
var volatile = map[string]bool{
	"uid": true, "resourceVersion": true, "generation": true, "observedGeneration": true, "continue": true, "remainingItemCount": true,
	"creationTimestamp": true, "deletionTimestamp": true, "lastTransitionTime": true, "lastUpdateTime": true, "lastTimestamp": true,
	"firstTimestamp": true, "eventTime": true, "timeAdded": true, "expirationTimestamp": true, "renewTime": true, "acquireTime": true, "lastHeartbeatTime": true,
	"startedAt": true, "startTime": true, "lastProbeTime": true, "lastUpdatedTime": true, "lastScheduledTime": true,
	"message": true, "appliedMessage": true, "id": true, "apiEndpoint": true, "data": true, "request": true, "certificate": true, "count": true, "cells": true,
	"podIP": true, "hostIP": true, "podIPs": true, "hostIPs": true, "nodeName": true, "serverAddressByClientCIDRs": true, "name": true,
	"leaseTransitions": true, "holderIdentity": true, "gitVersion": true,
	"authentication.kubernetes.io/credential-id": true, "open-cluster-management.io/automatically-accepted-on": true,
	"work.karmada.io/permanent-id": true, "propagationpolicy.karmada.io/permanent-id": true, "resourcebinding.karmada.io/permanent-id": true,
}

// notPromised are keys that need not be there: counters and marks of the
// recorded machine, and what a client's own clean-up adds.
var notPromised = map[string]bool{
	"resourceVersion": true, "continue": true, "remainingItemCount": true, "selfLink": true, "deletionGracePeriodSeconds": true,
	"$decoded": true, "$omitted": true, "$note": true, "hash": true, "allocated": true, "allocating": true,
}

// missing lists what a recorded answer has and ours lacks, as paths. sent is
// the request's body, which "$sameAsRequest" refers to.
func missing(recorded, ours, sent any, path string) []string {
	switch want := recorded.(type) {
	case map[string]any:
		return missingKeys(want, ours, sent, path)
	case []any:
		return missingItems(want, ours, sent, path)
	case string:
		if want == "$sameAsRequest" {
			return missing(sent, ours, nil, path)
		}
		if strings.HasPrefix(want, "<redacted") || strings.Contains(want, "$omitted") || want == "$sameAsRequest" {
			return nil
		}
	}
	if fmt.Sprint(recorded) == fmt.Sprint(ours) {
		return nil
	}
	return []string{fmt.Sprintf("%s is %v, recorded %v", path, ours, recorded)}
}

func missingKeys(want map[string]any, ours, sent any, path string) []string {
	if _, cut := want["$omitted"]; cut {
		return nil
	}
	got, ok := ours.(map[string]any)
	if !ok {
		if len(want) == 0 {
			return nil
		}
		return []string{path + " is missing"}
	}
	var out []string
	for key, value := range want {
		at := path + "." + key
		switch own, ok := got[key]; {
		case notPromised[key] || value == nil:
		case !ok && isEmpty(value):
		case !ok:
			out = append(out, at+" is missing")
		case volatile[key] && key != "metadata":
			// its presence is enough
		case key == "finalizers": // their order says only who was faster
			out = append(out, missingNames(value, own, at)...)
		default:
			out = append(out, missing(value, own, dig(sent, key), at)...)
		}
	}
	return out
}

// missingNames compares sets of strings.
func missingNames(want, ours any, path string) (out []string) {
	for _, name := range asList(want) {
		if !slices.Contains(asList(ours), name) {
			out = append(out, fmt.Sprintf("%s[%v] is missing", path, name))
		}
	}
	return out
}

// missingItems compares lists: objects by name, type or key where they have
// one, the rest by place.
func missingItems(want []any, ours, sent any, path string) []string {
	got, ok := ours.([]any)
	if !ok {
		if len(want) == 0 {
			return nil
		}
		return []string{path + " is missing"}
	}
	var out []string
	for i, item := range want {
		at := fmt.Sprintf("%s[%d]", path, i)
		if dig(item, "$omitted") != nil {
			continue
		}
		label, named := identity(item)
		if !named {
			if i < len(got) {
				out = append(out, missing(item, got[i], index(sent, i), at)...)
			} else {
				out = append(out, at+" is missing")
			}
			continue
		}
		found := false
		for j, own := range got {
			if other, _ := identity(own); other == label && alike(item, own) {
				out = append(out, missing(item, own, index(sent, j), path+"["+label+"]")...)
				found = true
				break
			}
		}
		if !found {
			out = append(out, path+"["+label+"] is missing")
		}
	}
	return out
}

// eventRE is the name of an Event: that of its object and a mark of time.
var eventRE = regexp.MustCompile(`^(.+)\.[0-9a-f]{16}$`)

// identity is what tells an item of a list from its neighbours. Events are told
// by what they are about.
func identity(item any) (string, bool) {
	if reason, ok := dig(item, "reason").(string); ok && dig(item, "involvedObject") != nil {
		return reason, true
	}
	for _, keys := range [][]string{{"metadata", "name"}, {"object", "metadata", "name"}, {"name"}, {"type"}, {"groupVersion"}, {"key"}} {
		if label, ok := dig(item, keys...).(string); ok {
			return eventRE.ReplaceAllString(label, "$1"), true
		}
	}
	return "", false
}

// alike says whether two items may be the same one: they are not of two kinds, nor of
// two namespaces.
func alike(a, b any) bool {
	for _, keys := range [][]string{{"kind"}, {"metadata", "namespace"}, {"object", "metadata", "namespace"}} {
		if one, other := dig(a, keys...), dig(b, keys...); one != nil && other != nil && one != other {
			return false
		}
	}
	return true
}

func index(list any, i int) any {
	items, ok := list.([]any)
	if !ok || i >= len(items) {
		return nil
	}
	return items[i]
}

func isEmpty(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	case string:
		return v == ""
	}
	return value == nil
}
