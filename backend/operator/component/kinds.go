package component

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// hashAnnotation holds what a definition was applied from, so that large schemas are sent only when they differ.
	hashAnnotation = "operator.muster.dev/applied"
	// establishLimit bounds the wait for an API server to serve new kinds; alone it takes less than a second.
	establishLimit = 30 * time.Second
	establishPoll  = 50 * time.Millisecond
)

// ApplyKinds brings the definitions up to date and returns once all of them are served. Those that stand as they were applied are not
// sent again.
func (a *Applier) ApplyKinds(ctx context.Context, kinds []*apiextensionsv1.CustomResourceDefinition) error {
	for _, kind := range kinds {
		if err := a.applyKind(ctx, kind.DeepCopy()); err != nil {
			return fmt.Errorf("apply custom resource definition %s: %w", kind.Name, err)
		}
	}
	waiting := map[string]bool{}
	for _, kind := range kinds {
		waiting[kind.Name] = true
	}
	err := wait.PollUntilContextTimeout(ctx, establishPoll, establishLimit, true, func(ctx context.Context) (bool, error) {
		for name := range waiting {
			current := &apiextensionsv1.CustomResourceDefinition{}
			if err := a.client.Get(ctx, client.ObjectKey{Name: name}, current); err != nil {
				return false, err
			}
			if !established(current) {
				return false, nil
			}
			delete(waiting, name)
		}
		return true, nil
	})
	if err != nil {
		return fmt.Errorf("wait for new kinds to be served: %w", err)
	}
	return nil
}

func (a *Applier) applyKind(ctx context.Context, kind *apiextensionsv1.CustomResourceDefinition) error {
	text, err := json.Marshal(kind.Spec)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	hash := hex.EncodeToString(sum[:16])
	current := &apiextensionsv1.CustomResourceDefinition{}
	err = a.client.Get(ctx, client.ObjectKeyFromObject(kind), current)
	switch {
	case err != nil && !IsGone(err):
		return err
	case err == nil && current.DeletionTimestamp != nil:
		return fmt.Errorf("the definition is being deleted")
	case err == nil && current.Annotations[hashAnnotation] == hash:
		a.applied = append(a.applied, Reference{
			Group: apiextensionsv1.GroupName, Version: "v1", Resource: "customresourcedefinitions", Name: kind.Name, Generation: current.Generation,
		})
		return nil
	}
	if kind.Annotations == nil {
		kind.Annotations = map[string]string{}
	}
	kind.Annotations[hashAnnotation] = hash
	return a.apply(ctx, kind)
}

func established(kind *apiextensionsv1.CustomResourceDefinition) bool {
	for _, condition := range kind.Status.Conditions {
		if condition.Type == apiextensionsv1.Established {
			return condition.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}
