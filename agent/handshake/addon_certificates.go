package handshake

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	ocmaddonv1alpha1 "muster.dev/muster/backend/apis/ocm/addon/v1alpha1"
	ocmaddonv1beta1 "muster.dev/muster/backend/apis/ocm/addon/v1beta1"
	ocmv1 "muster.dev/muster/backend/apis/ocm/cluster/v1"
)

const (
	// addonLook is how often the Secret of an add-on's certificate is looked at.
	addonLook = time.Minute
	// driverCSR is how we get an add-on its credentials.
	driverCSR = "csr"
)

// addonForm is one certificate that an add-on is to have.
type addonForm struct {
	addon, namespace, secret string
	kube                     bool // for the hub's API
	certificateForm
}

// key tells a form from all others.
func (f *addonForm) key() string {
	return fmt.Sprintf("%q", []string{f.addon, f.namespace, f.secret, f.signer, f.subject.String()})
}

// addonForms are the certificates that an add-on's manager wants its agent to
// have: in the words of whichever version it wrote.
func addonForms(cluster string, o *unstructured.Unstructured) []*addonForm {
	addon := &ocmaddonv1alpha1.ManagedClusterAddOn{}
	if o.GetDeletionTimestamp() != nil || runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, addon) != nil {
		return nil
	}
	identity := agentPrefix + "cluster:" + cluster + ":addon:" + addon.Name
	var forms []*addonForm
	for _, r := range addon.Status.Registrations {
		f := &addonForm{addon: addon.Name, namespace: namespaceOf(o), certificateForm: certificateForm{
			prefix: "addon-" + cluster + "-" + addon.Name + "-", signer: r.SignerName,
			labels: map[string]string{ocmv1.ClusterNameLabel: cluster, addonNameLabel: addon.Name},
			names:  []string{addon.Name + ".addon.open-cluster-management.io"},
		}}
		switch {
		case r.Type == ocmaddonv1beta1.RegistrationKubeClient:
			client := cmp.Or(r.KubeClient, &ocmaddonv1beta1.KubeClientConfig{})
			if client.Driver != "" && client.Driver != driverCSR {
				continue // by a token, which somebody else gets it
			}
			f.signer = certificatesv1.KubeAPIServerClientSignerName
			if s := client.Subject; s != nil {
				f.subject = pkix.Name{CommonName: s.User, Organization: s.Groups}
			}
		case r.Type == ocmaddonv1beta1.RegistrationCustomSigner && r.CustomSigner != nil:
			f.signer = r.CustomSigner.SignerName
			if s := r.CustomSigner.Subject; s != nil {
				f.subject = pkix.Name{CommonName: s.User, Organization: s.Groups, OrganizationalUnit: s.OrganizationUnits}
			}
		case r.SignerName == "":
			continue
		case r.Subject != nil:
			f.subject = pkix.Name{CommonName: r.Subject.User, Organization: r.Subject.Groups, OrganizationalUnit: r.Subject.OrganizationUnits}
		}
		if f.subject.CommonName == "" {
			f.subject.CommonName = identity + ":agent:" + addon.Name
		}
		f.secret = addon.Name + "-" + strings.ReplaceAll(f.signer, "/", "-") + "-client-cert"
		if f.kube = f.signer == certificatesv1.KubeAPIServerClientSignerName; f.kube {
			f.secret, f.subject.OrganizationalUnit = addon.Name+"-hub-kubeconfig", nil
			if len(f.subject.Organization) == 0 {
				f.subject.Organization = []string{identity}
			}
		}
		forms = append(forms, f)
	}
	return forms
}

// addonCertificates are the certificates of all add-ons, each in a goroutine.
type addonCertificates struct {
	*service
	running map[string]*addonRun
}

type addonRun struct {
	form *addonForm
	stop context.CancelFunc
	done chan struct{}
}

// follow starts what is wanted, and ends what is not any more, with its Secret.
func (c *addonCertificates) follow(ctx context.Context, addons map[string]seenAddon) {
	wanted := map[string]*addonForm{}
	for _, addon := range addons {
		for _, form := range addonForms(c.identity.Cluster, addon.object) {
			wanted[form.key()] = form
		}
	}
	kept := map[string]bool{}
	for _, form := range wanted {
		kept[form.namespace+"/"+form.secret] = true
	}
	for key, run := range c.running {
		if wanted[key] != nil {
			continue
		}
		run.stop()
		<-run.done
		delete(c.running, key)
		if !kept[run.form.namespace+"/"+run.form.secret] {
			c.forget(ctx, run.form)
		}
	}
	for key, form := range wanted {
		if c.running[key] != nil {
			continue
		}
		within, stop := context.WithCancel(ctx)
		run := &addonRun{form: form, stop: stop, done: make(chan struct{})}
		c.running[key] = run
		seen := addons[form.addon]
		go func() {
			defer close(run.done)
			c.keepCertificate(within, form, seen)
		}()
	}
}

// wait returns once nothing runs any more; the context of follow has ended.
func (c *addonCertificates) wait() {
	for _, run := range c.running {
		run.stop()
		<-run.done
	}
}

// forget deletes the Secret of a certificate that nobody wants any more.
func (c *addonCertificates) forget(ctx context.Context, f *addonForm) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if err := c.member.kube.CoreV1().Secrets(f.namespace).Delete(ctx, f.secret, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		c.log.Warn("certificate of a former add-on is left", "namespace", f.namespace, "name", f.secret, "error", err)
	}
}

// keepCertificate has the add-on's Secret hold a certificate that is valid, until
// ctx ends.
func (c *addonCertificates) keepCertificate(ctx context.Context, f *addonForm, seen seenAddon) {
	share, pause := rand.Float64(), pauseFirst
	held := new(granted) // issued and not kept yet: the add-on's namespace may be missing
	for ctx.Err() == nil {
		due, err := c.ensureCertificate(ctx, f, seen, share, held)
		if err == nil {
			pause = pauseFirst
			wait(ctx, min(max(time.Until(due), pauseFirst), addonLook))
			continue
		}
		if ctx.Err() == nil {
			c.log.Warn("add-on has no certificate", "cluster", c.identity.Cluster, "namespace", f.namespace, "name", f.addon, "error", err, "retry", pause)
			wait(ctx, pause)
			pause = min(2*pause, pauseMost)
		}
	}
}

// ensureCertificate returns when the certificate that is kept is due for renewal,
// after it has asked for one if there is none. held is what was issued before and
// could not be kept.
func (c *addonCertificates) ensureCertificate(ctx context.Context, f *addonForm, seen seenAddon, share float64, held *granted) (time.Time, error) {
	store := &SecretStore{Client: c.member.kube, Namespace: f.namespace, Name: f.secret}
	kept, err := store.Read(ctx)
	if err != nil {
		return time.Time{}, fmt.Errorf("read secret %s/%s: %w", f.namespace, f.secret, err)
	}
	data, err := c.addonData(f, kept[keyCertificate], kept[keyPrivate])
	if err != nil {
		return time.Time{}, err
	}
	leaf, err := f.leaf(kept[keyCertificate], kept[keyPrivate])
	if due := renewal(leaf, share); err == nil && time.Now().Before(due) {
		if maps.EqualFunc(data, subset(kept, data), bytes.Equal) {
			return due, nil
		}
		return due, store.Write(ctx, data) // the hub's address or CA has changed
	}
	if leaf, err = f.leaf(held.certPEM, held.keyPEM); err != nil {
		ask := &request{cluster: c.identity.Cluster, agent: c.identity.Agent, config: c.config, log: c.log, form: &f.certificateForm}
		if *held, err = ask.get(ctx); err != nil {
			return time.Time{}, err
		}
		if leaf, err = f.leaf(held.certPEM, held.keyPEM); err != nil {
			return time.Time{}, err
		}
	}
	if data, err = c.addonData(f, held.certPEM, held.keyPEM); err != nil {
		return time.Time{}, err
	}
	if err := store.Write(ctx, data); err != nil {
		return time.Time{}, err
	}
	*held = granted{}
	c.log.Info("add-on has a certificate", "cluster", c.identity.Cluster, "namespace", f.namespace, "name", f.addon, "expires", leaf.NotAfter)
	return renewal(leaf, share), c.tellRotated(ctx, f, seen, &rotation{from: leaf.NotBefore, to: leaf.NotAfter})
}

// subset are the keys of data as kept has them.
func subset(kept, data map[string][]byte) map[string][]byte {
	some := map[string][]byte{}
	for key := range data {
		if value, ok := kept[key]; ok {
			some[key] = value
		}
	}
	return some
}

// renewal is when a certificate has 20 to 25 % of its life left.
func renewal(leaf *x509.Certificate, share float64) time.Time {
	if leaf == nil {
		return time.Time{}
	}
	return (&Identity{leaf: leaf}).renewAt(share)
}

// leaf is the certificate, if it is what the form asks for and fits the key.
func (f *addonForm) leaf(certPEM, keyPEM []byte) (*x509.Certificate, error) {
	if len(certPEM) == 0 {
		return nil, errors.New("there is no certificate")
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("read the certificate of add-on %s: %w", f.addon, err)
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return nil, fmt.Errorf("read the certificate of add-on %s: %w", f.addon, err)
	}
	same := func(a, b []string) bool {
		return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
	}
	if leaf.Subject.CommonName != f.subject.CommonName || !same(leaf.Subject.Organization, f.subject.Organization) || !same(leaf.Subject.OrganizationalUnit, f.subject.OrganizationalUnit) {
		return nil, fmt.Errorf("the certificate is not what add-on %s is to have", f.addon)
	}
	return leaf, nil
}

// addonData are the keys of the add-on's Secret.
func (c *addonCertificates) addonData(f *addonForm, certPEM, keyPEM []byte) (map[string][]byte, error) {
	data, err := (&Identity{Cluster: c.identity.Cluster, Hub: c.identity.Hub, CertPEM: certPEM, KeyPEM: keyPEM}).data()
	if err != nil {
		return nil, err
	}
	delete(data, keyAgent)
	if !f.kube {
		delete(data, keyKubeconfig)
	}
	return data, nil
}

// tellRotated writes what the add-on's manager looks for: the condition, and how
// the credentials came.
func (c *addonCertificates) tellRotated(ctx context.Context, f *addonForm, seen seenAddon, turned *rotation) error {
	api := c.hub.Resource(seen.resource).Namespace(c.identity.Cluster)
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		within, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		current, err := api.Get(within, f.addon, metav1.GetOptions{})
		if err != nil {
			return err
		}
		addon := &ocmaddonv1beta1.ManagedClusterAddOn{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(current.Object, addon); err != nil {
			return err
		}
		meta.SetStatusCondition(&addon.Status.Conditions, turned.condition())
		status := map[string]any{"conditions": addon.Status.Conditions}
		if registrations, _, _ := unstructured.NestedSlice(current.Object, "status", "registrations"); f.kube && withDriver(registrations) {
			status["registrations"] = registrations
		}
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": addon.UID, "resourceVersion": addon.ResourceVersion}, "status": status})
		if err != nil {
			return err
		}
		_, err = api.Patch(within, f.addon, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
		return err
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("tell of the certificate of add-on %s: %w", f.addon, err)
	}
	return nil
}

// withDriver says in the registrations for the hub how the credentials came. It
// tells whether that was missing.
func withDriver(registrations []any) (changed bool) {
	for _, one := range registrations {
		r, ok := one.(map[string]any)
		if !ok || r["type"] != string(ocmaddonv1beta1.RegistrationKubeClient) {
			continue
		}
		client, ok := r["kubeClient"].(map[string]any)
		if ok && client["driver"] == nil {
			client["driver"], changed = driverCSR, true
		}
	}
	return changed
}
