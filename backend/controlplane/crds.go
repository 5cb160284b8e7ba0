package controlplane

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"reflect"
	"time"

	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// installCRDs creates the definitions and brings those that exist up to date;
// awaitServed waits until they are served.
func installCRDs(parent context.Context, config *rest.Config, wanted []*apiextensionsv1.CustomResourceDefinition) error {
	client, err := apiextensionsclient.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("build crd client: %w", err)
	}
	existing, err := client.CustomResourceDefinitions().List(parent, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list crds: %w", err)
	}
	byName := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for i := range existing.Items {
		byName[existing.Items[i].Name] = &existing.Items[i]
	}
	group, ctx := errgroup.WithContext(parent)
	group.SetLimit(parallelWrites)
	for _, crd := range wanted {
		group.Go(func() error {
			if err := installCRD(ctx, client.CustomResourceDefinitions(), byName[crd.Name], crd); err != nil {
				return fmt.Errorf("install crd %s: %w", crd.Name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// awaitServed returns once discovery lists the kinds of all definitions: the hub's
// controllers ask it. An API server that is not ready yet would have the client
// wait five seconds before it asks again.
func awaitServed(ctx context.Context, config *rest.Config, crds []*apiextensionsv1.CustomResourceDefinition) error {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("build discovery client: %w", err)
	}
	missing := map[string]map[string]bool{} // plural names by group version
	for _, crd := range crds {
		for _, version := range crd.Spec.Versions {
			if !version.Served {
				continue
			}
			at := crd.Spec.Group + "/" + version.Name
			if missing[at] == nil {
				missing[at] = map[string]bool{}
			}
			missing[at][crd.Spec.Names.Plural] = true
		}
	}
	err = wait.PollUntilContextTimeout(ctx, servedPoll, readyLimit, true, func(context.Context) (bool, error) {
		for at, plurals := range missing {
			list, err := client.ServerResourcesForGroupVersion(at)
			if err != nil {
				return false, nil // not served yet
			}
			for i := range list.APIResources {
				delete(plurals, list.APIResources[i].Name)
			}
			if len(plurals) > 0 {
				return false, nil
			}
			delete(missing, at)
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("wait for the hub's own kinds: %w", err)
	}
	return nil
}

// servedPoll is how often discovery is asked for kinds that come.
const servedPoll = 20 * time.Millisecond

func installCRD(ctx context.Context, client apiextensionsclient.CustomResourceDefinitionInterface, current, wanted *apiextensionsv1.CustomResourceDefinition) error {
	if current == nil {
		_, err := client.Create(ctx, wanted, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil // another replica of the hub starts, too
		}
		return err
	}
	// Compare with our own fields only: the server defaults conversion.
	if reflect.DeepEqual(current.Spec.Versions, wanted.Spec.Versions) && reflect.DeepEqual(current.Spec.Names.Categories, wanted.Spec.Names.Categories) {
		return nil
	}
	current.Spec = wanted.Spec
	_, err := client.Update(ctx, current, metav1.UpdateOptions{})
	return err
}

func readCRDs(files fs.FS) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	names, err := fs.Glob(files, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list crds: %w", err)
	}
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("read crd %s: %w", name, err)
		}
		decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), len(data))
		for {
			crd := &apiextensionsv1.CustomResourceDefinition{}
			if err := decoder.Decode(crd); err == io.EOF {
				break
			} else if err != nil {
				return nil, fmt.Errorf("decode crd %s: %w", name, err)
			}
			if crd.Name != "" {
				crds = append(crds, crd)
			}
		}
	}
	return crds, nil
}
