package handshake

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// namespacesEvery is how often the managed namespaces are looked at without any
// event.
const namespacesEvery = time.Minute

// HubHash identifies a hub in the member: the SHA-256 of its address.
func HubHash(server string) string {
	sum := sha256.Sum256([]byte(server))
	return hex.EncodeToString(sum[:])
}

// namespaceLabel marks the namespaces that sets of a hub ask for. A label's name
// holds 63 characters.
func namespaceLabel(server string) string {
	return "clusterset.open-cluster-management.io/" + HubHash(server)[:63]
}

// manageNamespaces keeps the namespaces in the member that sets of the cluster ask
// for (contract 2.5). Those that are asked for no more stay, without the mark.
func (s *service) manageNamespaces(ctx context.Context) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var done map[string]string
	var last time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		cluster := s.current()
		if !isAccepted(cluster) {
			continue
		}
		wanted := map[string]string{}
		for _, entry := range cluster.Status.ManagedNamespaces {
			wanted[entry.Name] = ""
		}
		if sameKeys(done, wanted) && time.Since(last) < namespacesEvery || done == nil && len(wanted) == 0 && last.After(time.Now().Add(-namespacesEvery)) {
			continue
		}
		for name := range wanted {
			if err := s.ensureNamespace(ctx, name); err != nil {
				wanted[name] = fmt.Sprintf("Failed to apply namespace: %v", err)
			}
		}
		if err := s.releaseNamespaces(ctx, wanted); err != nil && ctx.Err() == nil {
			s.log.Debug("managed namespaces not released", "cluster", s.identity.Cluster, "error", err)
		}
		done, last = wanted, time.Now()
		if !maps.Equal(s.member.observed().namespaces, wanted) {
			s.member.change(func(o *observation) { o.namespaces = wanted })
		}
	}
}

func sameKeys(a, b map[string]string) bool {
	if a == nil || len(a) != len(b) {
		return false
	}
	for key, problem := range a {
		if _, ok := b[key]; !ok || problem != "" {
			return false
		}
	}
	return true
}

func (s *service) ensureNamespace(ctx context.Context, name string) error {
	within, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	label := namespaceLabel(s.identity.Hub.Server)
	namespaces := s.member.kube.CoreV1().Namespaces()
	found, err := namespaces.Get(within, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = namespaces.Create(within, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{label: "true"}}}, metav1.CreateOptions{})
		return err
	}
	if err != nil || found.Labels[label] == "true" {
		return err
	}
	return s.mark(within, name, "true")
}

func (s *service) mark(ctx context.Context, name string, value any) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]any{namespaceLabel(s.identity.Hub.Server): value}}})
	if err != nil {
		return err
	}
	_, err = s.member.kube.CoreV1().Namespaces().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

func (s *service) releaseNamespaces(ctx context.Context, wanted map[string]string) error {
	within, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	list, err := s.member.kube.CoreV1().Namespaces().List(within, metav1.ListOptions{LabelSelector: namespaceLabel(s.identity.Hub.Server) + "=true"})
	if err != nil {
		return err
	}
	for i := range list.Items {
		if _, ok := wanted[list.Items[i].Name]; ok {
			continue
		}
		if err := s.mark(within, list.Items[i].Name, nil); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}
