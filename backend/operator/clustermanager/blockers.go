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

// removeKinds deletes the kinds and with them everybody's objects. The first few go one by one: a cluster's finalizers want its works gone,
// and both want the hub to run, which it does until all of them are.
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
	kind := &apiextensionsv1.CustomResourceDefinition{}
	if err := hub.Get(ctx, client.ObjectKey{Name: name}, kind); component.IsGone(err) {
		return nil
	} else if err != nil {
		return fmt.Errorf("read kind %s: %w", name, err)
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
	return &blocked{reason: kind.Spec.Names.Kind + "s" + "Remain", retry: removalPoll, message: describe(kind.Spec.Names.Kind, left)}
}

// objectsOf lists what is left of a kind: metadata is all that is needed.
func objectsOf(ctx context.Context, hub client.Client, kind *apiextensionsv1.CustomResourceDefinition) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	for _, version := range kind.Spec.Versions {
		if version.Storage {
			list.APIVersion = kind.Spec.Group + "/" + version.Name
		}
	}
	list.Kind = kind.Spec.Names.ListKind
	if err := hub.List(ctx, list); component.IsGone(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("list what is left of %s: %w", kind.Name, err)
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
