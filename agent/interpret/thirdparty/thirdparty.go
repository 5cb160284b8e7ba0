// Package thirdparty knows kinds of well-known projects, by customizations that
// come with Muster: how their replicas, status and health are read. They are data;
// who wants another reading writes a customization of their own, which counts
// more.
package thirdparty

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	configv1alpha1 "muster.dev/muster/backend/apis/config/v1alpha1"
)

//go:embed data/*.yaml prelude.lua
var files embed.FS

// alsoAnnotation names further kinds, as "apiVersion/Kind" separated by commas,
// that a customization of the data is for.
const alsoAnnotation = "muster.dev/also-for"

// Customizations returns the bundled customizations, each for one kind, to be
// read only. Their scripts are complete.
var Customizations = sync.OnceValue(func() []configv1alpha1.ResourceInterpreterCustomization {
	list, err := load()
	if err != nil {
		panic("the bundled customizations: " + err.Error()) // they are part of the program
	}
	return list
})

func load() ([]configv1alpha1.ResourceInterpreterCustomization, error) {
	prelude, err := files.ReadFile("prelude.lua")
	if err != nil {
		return nil, err
	}
	entries, err := files.ReadDir("data")
	if err != nil {
		return nil, err
	}
	var list []configv1alpha1.ResourceInterpreterCustomization
	for _, entry := range entries {
		text, err := files.ReadFile(path.Join("data", entry.Name()))
		if err != nil {
			return nil, err
		}
		more, err := parse(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", entry.Name(), err)
		}
		for i := range more {
			complete(&more[i].Spec.Customizations, string(prelude))
			list = append(list, copies(&more[i])...)
		}
	}
	return list, nil
}

func parse(text []byte) ([]configv1alpha1.ResourceInterpreterCustomization, error) {
	var list []configv1alpha1.ResourceInterpreterCustomization
	reader := utilyaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(text)))
	document := make([]byte, len(text)+1)
	for {
		n, err := reader.Read(document)
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		var c configv1alpha1.ResourceInterpreterCustomization
		if err := yaml.UnmarshalStrict(document[:n], &c); err != nil {
			return nil, err
		}
		list = append(list, c)
	}
}

// complete puts the common functions before the scripts.
func complete(r *configv1alpha1.CustomizationRules, prelude string) {
	add := func(script *string) { *script = prelude + "\n" + *script }
	if r.Retention != nil {
		add(&r.Retention.LuaScript)
	}
	if r.ReplicaResource != nil {
		add(&r.ReplicaResource.LuaScript)
	}
	if r.ReplicaRevision != nil {
		add(&r.ReplicaRevision.LuaScript)
	}
	if r.ComponentResource != nil {
		add(&r.ComponentResource.LuaScript)
	}
	if r.StatusReflection != nil {
		add(&r.StatusReflection.LuaScript)
	}
	if r.StatusAggregation != nil {
		add(&r.StatusAggregation.LuaScript)
	}
	if r.HealthInterpretation != nil {
		add(&r.HealthInterpretation.LuaScript)
	}
	if r.DependencyInterpretation != nil {
		add(&r.DependencyInterpretation.LuaScript)
	}
}

// copies returns a customization once for each of its kinds.
func copies(c *configv1alpha1.ResourceInterpreterCustomization) []configv1alpha1.ResourceInterpreterCustomization {
	list := []configv1alpha1.ResourceInterpreterCustomization{*c}
	for kind := range strings.SplitSeq(c.Annotations[alsoAnnotation], ",") {
		kind = strings.TrimSpace(kind)
		if slash := strings.LastIndex(kind, "/"); slash > 0 {
			also := *c
			also.Spec.Target = configv1alpha1.CustomizationTarget{APIVersion: kind[:slash], Kind: kind[slash+1:]}
			list = append(list, also)
		}
	}
	return list
}
