package component

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"text/template"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Render fills the template name in files with values and returns its objects in the order in which they stand there.
func Render(files fs.FS, name string, values any) ([]client.Object, error) {
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, fmt.Errorf("read manifest %s: %w", name, err)
	}
	parsed, err := template.New(name).Option("missingkey=error").Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("parse manifest %s: %w", name, err)
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, values); err != nil {
		return nil, fmt.Errorf("fill manifest %s: %w", name, err)
	}
	objects, err := Decode(out.Bytes())
	if err != nil {
		return nil, fmt.Errorf("decode manifest %s: %w", name, err)
	}
	return objects, nil
}

// Decode reads the objects of a manifest.
func Decode(text []byte) ([]client.Object, error) {
	var objects []client.Object
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, err
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// Kinds reads the custom resource definitions called names (such as "managedclusters.cluster.open-cluster-management.io") from files, in
// the order of names. A name that no file defines is an error of ours.
func Kinds(files fs.FS, names []string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	found := map[string]*apiextensionsv1.CustomResourceDefinition{}
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		text, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(text, definition); err != nil {
			return fmt.Errorf("decode %s: %w", path, err)
		}
		found[definition.Name] = definition
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read custom resource definitions: %w", err)
	}
	kinds := make([]*apiextensionsv1.CustomResourceDefinition, 0, len(names))
	for _, name := range names {
		if found[name] == nil {
			return nil, fmt.Errorf("no manifest defines %s", name)
		}
		kinds = append(kinds, found[name])
	}
	return kinds, nil
}
