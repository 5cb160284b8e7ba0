package trial

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	configv1alpha1 "muster.dev/muster/backend/apis/config/v1alpha1"
	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

const (
	// maxFile bounds one file, in bytes.
	maxFile = 16 << 20
	// fetchTimeout bounds the read of a URL.
	fetchTimeout = 30 * time.Second
)

// extensions are those of the files in a directory that are read.
var extensions = []string{".json", ".yaml", ".yml"}

// Sources say where customizations and objects come from: a file, a directory, an
// http or https URL, or "-" for In.
type Sources struct {
	Customizations []string
	// Recursive goes into the directories of directories.
	Recursive bool
	// Desired, Observed and Status are arguments of the rules; "" if not given.
	Desired, Observed, Status string
	// In is standard input. It can be read once.
	In io.Reader
}

// documents returns the JSON documents at a place.
func (s *Sources) documents(ctx context.Context, place string) ([][]byte, error) {
	texts, err := s.read(ctx, place)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", place, err)
	}
	var documents [][]byte
	for _, text := range texts {
		reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
		for {
			document, err := reader.Read()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", place, err)
			}
			data, err := yaml.YAMLToJSON(document)
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", place, err)
			}
			if string(data) != "null" {
				documents = append(documents, data)
			}
		}
	}
	return documents, nil
}

func (s *Sources) read(ctx context.Context, place string) ([][]byte, error) {
	switch {
	case place == "-":
		text, err := bounded(s.In)
		return [][]byte{text}, err
	case strings.HasPrefix(place, "http://"), strings.HasPrefix(place, "https://"):
		text, err := fetch(ctx, place)
		return [][]byte{text}, err
	}
	info, err := os.Stat(place)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		text, err := os.ReadFile(place)
		return [][]byte{text}, err
	}
	var texts [][]byte
	err = filepath.WalkDir(place, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != place && !s.Recursive:
			return fs.SkipDir
		case entry.IsDir() || !slices.Contains(extensions, filepath.Ext(path)):
			return nil
		}
		text, err := os.ReadFile(path)
		texts = append(texts, text)
		return err
	})
	return texts, err
}

func fetch(ctx context.Context, url string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("HTTP status %d", response.StatusCode)
	}
	return bounded(response.Body)
}

func bounded(r io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if len(text) > maxFile {
		return nil, fmt.Errorf("more than %d MiB", maxFile>>20)
	}
	return text, err
}

// customizations reads all customizations.
func (s *Sources) customizations(ctx context.Context) ([]configv1alpha1.ResourceInterpreterCustomization, error) {
	var list []configv1alpha1.ResourceInterpreterCustomization
	for _, place := range s.Customizations {
		documents, err := s.documents(ctx, place)
		if err != nil {
			return nil, err
		}
		for _, document := range documents {
			more, err := decodeCustomizations(document)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", place, err)
			}
			list = append(list, more...)
		}
	}
	if len(list) == 0 {
		return nil, errors.New("there is no ResourceInterpreterCustomization in the files given with --filename")
	}
	return list, nil
}

// decodeCustomizations reads one customization, or a list of them.
func decodeCustomizations(document []byte) ([]configv1alpha1.ResourceInterpreterCustomization, error) {
	const kind = "ResourceInterpreterCustomization"
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(document); err != nil {
		return nil, fmt.Errorf("it is no object: %w", err)
	}
	if o.IsList() {
		var list configv1alpha1.ResourceInterpreterCustomizationList
		if err := yaml.UnmarshalStrict(document, &list); err != nil {
			return nil, err
		}
		return list.Items, nil
	}
	if o.GetKind() != kind || o.GetAPIVersion() != configv1alpha1.GroupVersion.String() {
		return nil, fmt.Errorf("it is a %s of %s, not a %s of %s", o.GetKind(), o.GetAPIVersion(), kind, configv1alpha1.GroupVersion)
	}
	var c configv1alpha1.ResourceInterpreterCustomization
	if err := yaml.UnmarshalStrict(document, &c); err != nil {
		return nil, err
	}
	if c.Name == "" || c.Spec.Target.APIVersion == "" || c.Spec.Target.Kind == "" {
		return nil, errors.New("metadata.name, spec.target.apiVersion and spec.target.kind are required")
	}
	return []configv1alpha1.ResourceInterpreterCustomization{c}, nil
}

// object reads the only object at a place, nil if none is given.
func (s *Sources) object(ctx context.Context, place, flag string) (*unstructured.Unstructured, error) {
	if place == "" {
		return nil, nil
	}
	documents, err := s.documents(ctx, place)
	if err != nil {
		return nil, err
	}
	if len(documents) != 1 {
		return nil, fmt.Errorf("%s must hold one object, %s holds %d", flag, place, len(documents))
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(documents[0]); err != nil {
		return nil, fmt.Errorf("%s %s: it is no object: %w", flag, place, err)
	}
	return o, nil
}

// items reads the members' status: documents of one item each, or lists of them.
func (s *Sources) items(ctx context.Context) ([]workv1alpha2.AggregatedStatusItem, error) {
	if s.Status == "" {
		return nil, nil
	}
	documents, err := s.documents(ctx, s.Status)
	if err != nil {
		return nil, err
	}
	var items []workv1alpha2.AggregatedStatusItem
	for _, document := range documents {
		if document[0] == '[' {
			var list []workv1alpha2.AggregatedStatusItem
			if err := yaml.Unmarshal(document, &list); err != nil {
				return nil, fmt.Errorf("--status-file %s: %w", s.Status, err)
			}
			items = append(items, list...)
			continue
		}
		var item workv1alpha2.AggregatedStatusItem
		if err := yaml.Unmarshal(document, &item); err != nil {
			return nil, fmt.Errorf("--status-file %s: %w", s.Status, err)
		}
		items = append(items, item)
	}
	return items, nil
}
