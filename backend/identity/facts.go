package identity

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"sync"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "muster.dev/muster/backend/apis/cluster/v1alpha1"
)

// idIndex is the field of the manager's cache that finds Clusters by spec.id.
const idIndex = "spec.id"

// HubFacts answers what Authorizer and Admission ask about the hub's objects:
// from the manager's cache where that is enough, from the API where a cache a few
// milliseconds behind would be wrong.
type HubFacts struct {
	cached      client.Reader
	live        client.Reader
	revocations *Revocations

	mu      sync.Mutex
	helpers map[string]helperGrant // by credential id
}

type helperGrant struct {
	cluster, request string
	until            time.Time
}

// NewHubFacts returns facts read through the manager's client and through a
// reader that asks the API itself.
func NewHubFacts(cached, live client.Reader, revocations *Revocations) *HubFacts {
	return &HubFacts{cached: cached, live: live, revocations: revocations, helpers: map[string]helperGrant{}}
}

// Revoked implements Facts.
func (f *HubFacts) Revoked(_ context.Context, cluster string, issued time.Time) (bool, error) {
	return f.revocations.Revoked(cluster, issued), nil
}

// indexID is how the cache indexes Clusters.
func indexID(object client.Object) []string {
	if cluster, ok := object.(*clusterv1alpha1.Cluster); ok && cluster.Spec.ID != "" {
		return []string{cluster.Spec.ID}
	}
	return nil
}

// get reads an object from the cache, or from the API if the cache lacks it.
func (f *HubFacts) get(ctx context.Context, key client.ObjectKey, into client.Object) (found bool, err error) {
	err = f.cached.Get(ctx, key, into)
	if apierrors.IsNotFound(err) {
		err = f.live.Get(ctx, key, into)
	}
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// Registered implements Facts.
func (f *HubFacts) Registered(ctx context.Context, name string) (bool, error) {
	return f.get(ctx, client.ObjectKey{Name: name}, new(clusterv1alpha1.Cluster))
}

// RequesterOf implements Facts.
func (f *HubFacts) RequesterOf(ctx context.Context, name string) (string, error) {
	var request certificatesv1.CertificateSigningRequest
	if found, err := f.get(ctx, client.ObjectKey{Name: name}, &request); err != nil || !found {
		return "", err
	}
	return request.Spec.Username, nil
}

// NamesByID implements ClusterIDs.
func (f *HubFacts) NamesByID(ctx context.Context, id string) ([]string, error) {
	var clusters clusterv1alpha1.ClusterList
	if err := f.cached.List(ctx, &clusters, client.MatchingFields{idIndex: id}); err != nil {
		return nil, fmt.Errorf("list clusters by id: %w", err)
	}
	names := make([]string, len(clusters.Items))
	for i := range clusters.Items {
		names[i] = clusters.Items[i].Name
	}
	return names, nil
}

// Look implements ClusterIDs.
func (f *HubFacts) Look(ctx context.Context, name string) (Sight, error) {
	var cluster clusterv1alpha1.Cluster
	if err := f.live.Get(ctx, client.ObjectKey{Name: name}, &cluster); err != nil {
		return Sight{}, client.IgnoreNotFound(err)
	}
	return Sight{Exists: true, Removing: cluster.DeletionTimestamp != nil, ID: cluster.Spec.ID}, nil
}

// Helper implements Facts. Grants are noted when the certificate is issued; after
// a restart of the hub they are found again as long as the request exists.
func (f *HubFacts) Helper(ctx context.Context, credential string) (HelperGrant, bool, error) {
	if credential == "" {
		return HelperGrant{}, false, nil
	}
	grant, ok := f.grant(credential)
	if !ok {
		var requests certificatesv1.CertificateSigningRequestList
		if err := f.live.List(ctx, &requests); err != nil {
			return HelperGrant{}, false, fmt.Errorf("list certificate requests: %w", err)
		}
		for i := range requests.Items {
			f.noteHelper(&requests.Items[i])
		}
		if grant, ok = f.grant(credential); !ok {
			return HelperGrant{}, false, nil
		}
	}
	exists, err := f.get(ctx, client.ObjectKey{Name: grant.request}, new(certificatesv1.CertificateSigningRequest))
	return HelperGrant{Cluster: grant.cluster, Request: grant.request, Exists: exists}, err == nil, err
}

func (f *HubFacts) grant(credential string) (helperGrant, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	grant, ok := f.helpers[credential]
	return grant, ok && time.Now().Before(grant.until)
}

// noteHelper remembers what an issued helper certificate stands for.
func (f *HubFacts) noteHelper(request *certificatesv1.CertificateSigningRequest) {
	block, _ := pem.Decode(request.Status.Certificate)
	if block == nil {
		return
	}
	asked, err := parseAgentRequest(request.Name, request.Spec.SignerName, request.Spec.Usages, request.Spec.Request)
	if err != nil || !asked.helper {
		return
	}
	sum := sha256.Sum256(block.Bytes)
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	for credential, grant := range f.helpers {
		if now.After(grant.until) {
			delete(f.helpers, credential)
		}
	}
	// The name the API server's certificate authentication gives a credential.
	f.helpers["X509SHA256="+hex.EncodeToString(sum[:])] = helperGrant{
		cluster: asked.cluster, request: request.Name, until: now.Add(2 * helperLifetime),
	}
}
