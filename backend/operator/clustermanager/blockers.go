package clustermanager

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"muster.dev/muster/backend/operator/component"
)

const (
	// removalPoll is how soon removal looks again at what it waits for.
	removalPoll = time.Second
	// namedBlockers is how many objects a condition names.
	namedBlockers = 10
	// inOrder is how many of hubKinds wait for one another; the rest go together.
	inOrder = 4

	reasonPodsRemain  = "HubPodsRemain"
	reasonKindRemains = "KindRemains"
)

// blocked says what removal waits for.
type blocked struct {
	reason, message string
	retry           time.Duration
}

func (b *blocked) Error() string { return b.message }

// removeClusters deletes the managed clusters while the hub serves all kinds: it removes their add-ons and works first, each by its agent.
// A work that nobody removes is named before the cluster that waits for it.
func (r *Reconciler) removeClusters(ctx context.Context, s *scope) error {
	if s.hub == nil || r.settings.KeepKinds {
		return nil
	}
	clusters, err := kindOf(ctx, s.hub.Client, clustersKind)
	if err != nil || clusters == nil {
		return err
	}
	left, err := objectsOf(ctx, s.hub.Client, clusters)
	if err != nil || len(left) == 0 {
		return err
	}
	for i := range left {
		if left[i].DeletionTimestamp == nil {
			if err := component.Remove(ctx, s.hub.Client, &left[i]); err != nil {
				return err
			}
		}
	}
	if works, err := kindOf(ctx, s.hub.Client, worksKind); err != nil {
		return err
	} else if works != nil {
		held, err := objectsOf(ctx, s.hub.Client, works)
		if err != nil {
			return err
		}
		if len(held) > 0 {
			return remains(works, held)
		}
	}
	return remains(clusters, left)
}

// kindOf reads a kind; nil: it is not there.
func kindOf(ctx context.Context, hub client.Client, name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	kind := &apiextensionsv1.CustomResourceDefinition{}
	if err := hub.Get(ctx, client.ObjectKey{Name: name}, kind); component.IsGone(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("read kind %s: %w", name, err)
	}
	return kind, nil
}

// remains names the objects that removal waits for.
func remains(kind *apiextensionsv1.CustomResourceDefinition, left []metav1.PartialObjectMetadata) error {
	return &blocked{reason: kind.Spec.Names.Kind + "sRemain", retry: removalPoll, message: describe(kind.Spec.Names.Kind, left)}
}

// removeKinds deletes the kinds and with them everybody's objects, the first few one by one.
func (r *Reconciler) removeKinds(ctx context.Context, s *scope) error {
	if s.hub == nil || r.settings.KeepKinds {
		return nil
	}
	for _, name := range hubKinds[:inOrder] {
		if err := removeKind(ctx, s.hub.Client, name); err != nil {
			return err
		}
	}
	var waiting error
	for _, name := range hubKinds[inOrder:] {
		if err := removeKind(ctx, s.hub.Client, name); err != nil {
			waiting = err
		}
	}
	return waiting
}

// removeKind deletes a kind; as long as it is there, the error is a *blocked that names what holds it.
func removeKind(ctx context.Context, hub client.Client, name string) error {
	kind, err := kindOf(ctx, hub, name)
	if err != nil || kind == nil {
		return err
	}
	if kind.DeletionTimestamp == nil {
		if err := component.Remove(ctx, hub, kind); err != nil {
			return err
		}
	}
	left, err := objectsOf(ctx, hub, kind)
	if err != nil {
		return err
	}
	if len(left) == 0 {
		return &blocked{reason: reasonKindRemains, retry: removalPoll, message: "Waiting for the API server to let " + name + " go"}
	}
	return remains(kind, left)
}

// objectsOf lists what is left of a kind: metadata is all that is needed.
func objectsOf(ctx context.Context, hub client.Client, kind *apiextensionsv1.CustomResourceDefinition) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	object := metav1.TypeMeta{Kind: kind.Spec.Names.Kind}
	for _, version := range kind.Spec.Versions {
		if version.Storage {
			object.APIVersion = kind.Spec.Group + "/" + version.Name
		}
	}
	list.APIVersion, list.Kind = object.APIVersion, kind.Spec.Names.ListKind
	if err := hub.List(ctx, list); component.IsGone(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("list what is left of %s: %w", kind.Name, err)
	}
	for i := range list.Items {
		list.Items[i].TypeMeta = object
	}
	return list.Items, nil
}

// describe names objects and who holds them.
func describe(kind string, left []metav1.PartialObjectMetadata) string {
	var named []string
	for i := range left {
		name := left[i].Name
		if left[i].Namespace != "" {
			name = left[i].Namespace + "/" + name
		}
		if len(left[i].Finalizers) > 0 {
			name += " (held by " + strings.Join(left[i].Finalizers, ", ") + ")"
		}
		named = append(named, name)
	}
	slices.Sort(named)
	more := ""
	if len(named) > namedBlockers {
		more = fmt.Sprintf(" and %d more", len(named)-namedBlockers)
		named = named[:namedBlockers]
	}
	return fmt.Sprintf("Waiting for %d %s to be removed: %s%s", len(left), kind, strings.Join(named, "; "), more)
}
