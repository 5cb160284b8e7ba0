package joining

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/backend/fault"
	"muster.dev/muster/backend/identity"
	"muster.dev/muster/backend/reach"
)

// Names in a member (contract section 3.2).
const (
	// ImpersonatorAccount is the account through which the cluster proxy acts as
	// others; all registrations of a member share it.
	ImpersonatorAccount = "karmada-impersonator"
	// controllerRolePrefix starts the role of the account that applies Works.
	controllerRolePrefix = "karmada-controller-manager:"
	accountPrefix        = "karmada-"
)

const (
	// credentialTimeout bounds the wait for Kubernetes to fill a token Secret.
	credentialTimeout = 30 * time.Second
	// namespaceTimeout bounds the wait for an earlier namespace to go.
	namespaceTimeout = 30 * time.Second
)

// MemberAccount is the account in a member that the hub's controllers use.
func MemberAccount(cluster string) string { return accountPrefix + cluster }

// MemberRole names the role and the binding of MemberAccount.
func MemberRole(cluster string) string { return controllerRolePrefix + MemberAccount(cluster) }

// member makes the objects in a member that the hub's account needs (contract
// section 4.2, steps 3 to 5), and remembers how to take back what it made.
type member struct {
	client    kubernetes.Interface
	cluster   string
	namespace string
	undo      *undoStack
}

// credential is what an account's token Secret holds.
type credential struct {
	token string
	ca    []byte
}

func (m *member) ensureNamespace(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, namespaceTimeout)
	defer cancel()
	for {
		made, err := settle(ctx, func(ctx context.Context) (*corev1.Namespace, error) {
			return m.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: identity.SystemMeta("", m.namespace)}, metav1.CreateOptions{})
		})
		if err == nil {
			m.undo.push("namespace "+m.namespace, func(ctx context.Context) error {
				return m.client.CoreV1().Namespaces().Delete(ctx, made.Name, onlyThis(made.UID))
			})
			return nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return reach.Fault("create namespace "+m.namespace, err)
		}
		namespace, err := m.client.CoreV1().Namespaces().Get(ctx, m.namespace, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return reach.Fault("read namespace "+m.namespace, err)
		case namespace.DeletionTimestamp == nil:
			return nil
		default:
			if err := m.awaitDeletion(ctx, namespace); err != nil {
				return err
			}
		}
	}
}

// awaitDeletion watches a namespace that is being deleted until it is gone or
// the watch ends.
func (m *member) awaitDeletion(ctx context.Context, namespace *corev1.Namespace) error {
	watcher, err := m.client.CoreV1().Namespaces().Watch(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("metadata.name", namespace.Name).String(), ResourceVersion: namespace.ResourceVersion,
	})
	if err != nil {
		return reach.Fault("watch namespace "+namespace.Name, err)
	}
	defer watcher.Stop()
	for {
		select {
		case <-ctx.Done():
			return fault.Unavailable("namespace %s in the member is still being deleted", m.namespace).Wrap(ctx.Err()).
				WithFix("see what holds it: kubectl get namespace " + m.namespace + " -o yaml; then join again")
		case event, open := <-watcher.ResultChan():
			if !open || event.Type == watch.Error || event.Type == watch.Deleted {
				return nil
			}
		}
	}
}

// ensureAccounts makes both accounts with their tokens, and the rights of the
// first one. They do not depend on each other, so they are made side by side.
func (m *member) ensureAccounts(ctx context.Context) (hub, impersonator credential, err error) {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		hub, err = m.ensureAccount(ctx, MemberAccount(m.cluster))
		return err
	})
	group.Go(func() (err error) {
		impersonator, err = m.ensureAccount(ctx, ImpersonatorAccount)
		return err
	})
	group.Go(func() error { return m.ensureRights(ctx) })
	err = group.Wait()
	return hub, impersonator, err
}

func (m *member) ensureAccount(ctx context.Context, name string) (credential, error) {
	accounts := m.client.CoreV1().ServiceAccounts(m.namespace)
	account, err := settle(ctx, func(ctx context.Context) (*corev1.ServiceAccount, error) {
		return accounts.Create(ctx, &corev1.ServiceAccount{ObjectMeta: identity.SystemMeta(m.namespace, name)}, metav1.CreateOptions{})
	})
	switch {
	case apierrors.IsAlreadyExists(err):
		if account, err = accounts.Get(ctx, name, metav1.GetOptions{}); err != nil {
			return credential{}, reach.Fault("read service account "+name, err)
		}
	case err != nil:
		return credential{}, reach.Fault("create service account "+name, err)
	default:
		made := account.UID
		m.undo.push("service account "+name, func(ctx context.Context) error {
			return accounts.Delete(ctx, name, onlyThis(made))
		})
	}
	return m.ensureToken(ctx, account)
}

// ensureToken makes the account's token Secret at once and watches it until
// Kubernetes has filled it. One that was made for an earlier account of the same
// name is dead and is replaced.
func (m *member) ensureToken(ctx context.Context, account *corev1.ServiceAccount) (credential, error) {
	ctx, cancel := context.WithTimeout(ctx, credentialTimeout)
	defer cancel()
	secrets := m.client.CoreV1().Secrets(m.namespace)
	wanted := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: m.namespace, Name: account.Name,
			Annotations: map[string]string{corev1.ServiceAccountNameKey: account.Name},
		},
		Type: corev1.SecretTypeServiceAccountToken,
	}
	for range 3 {
		secret, err := settle(ctx, func(ctx context.Context) (*corev1.Secret, error) {
			return secrets.Create(ctx, wanted, metav1.CreateOptions{})
		})
		if err == nil {
			made := secret.UID
			m.undo.push("secret "+account.Name, func(ctx context.Context) error {
				return secrets.Delete(ctx, account.Name, onlyThis(made))
			})
			return m.awaitToken(ctx, secret)
		}
		if !apierrors.IsAlreadyExists(err) {
			return credential{}, reach.Fault("create secret "+account.Name, err)
		}
		secret, err = secrets.Get(ctx, account.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return credential{}, reach.Fault("read secret "+account.Name, err)
		}
		if secret.Type != corev1.SecretTypeServiceAccountToken || secret.Annotations[corev1.ServiceAccountNameKey] != account.Name {
			return credential{}, fault.Conflict("secret %s/%s in the member is not the token of account %s", m.namespace, secret.Name, account.Name).
				WithFix("rename or remove that secret, then join again")
		}
		if uid := secret.Annotations[corev1.ServiceAccountUIDKey]; uid == "" || uid == string(account.UID) {
			return m.awaitToken(ctx, secret)
		}
		if err := secrets.Delete(ctx, secret.Name, onlyThis(secret.UID)); err != nil && !apierrors.IsNotFound(err) {
			return credential{}, reach.Fault("delete outdated secret "+secret.Name, err)
		}
	}
	return credential{}, fault.Unavailable("the token of account %s keeps vanishing in the member", account.Name).
		WithFix("see whether something else manages namespace " + m.namespace + " in the member, then join again")
}

// awaitToken watches a token Secret until it is filled.
func (m *member) awaitToken(ctx context.Context, secret *corev1.Secret) (credential, error) {
	for {
		if found, ok := credentialOf(secret); ok {
			return found, nil
		}
		watcher, err := m.client.CoreV1().Secrets(m.namespace).Watch(ctx, metav1.ListOptions{
			FieldSelector: fields.OneTermEqualSelector("metadata.name", secret.Name).String(), ResourceVersion: secret.ResourceVersion,
		})
		if err != nil {
			return credential{}, reach.Fault("watch secret "+secret.Name, err)
		}
		found, ok, err := firstCredential(ctx, watcher, secret)
		watcher.Stop()
		if err != nil || ok {
			return found, err
		}
		// The watch ended early. Look again and go on from there.
		if secret, err = m.client.CoreV1().Secrets(m.namespace).Get(ctx, secret.Name, metav1.GetOptions{}); err != nil {
			return credential{}, reach.Fault("read secret", err)
		}
	}
}

func firstCredential(ctx context.Context, watcher watch.Interface, secret *corev1.Secret) (credential, bool, error) {
	for {
		select {
		case <-ctx.Done():
			return credential{}, false, fault.Unavailable("the member did not fill the token of account %s in time", secret.Name).Wrap(ctx.Err()).
				WithFix("see whether kube-controller-manager runs in the member: it makes the tokens of service accounts")
		case event, open := <-watcher.ResultChan():
			if !open || event.Type == watch.Error {
				return credential{}, false, nil
			}
			current, ok := event.Object.(*corev1.Secret)
			if !ok || current.UID != secret.UID {
				continue
			}
			if event.Type == watch.Deleted {
				return credential{}, false, fault.Unavailable("the token of account %s was deleted in the member while joining", secret.Name)
			}
			if found, ok := credentialOf(current); ok {
				return found, true, nil
			}
		}
	}
}

func credentialOf(secret *corev1.Secret) (credential, bool) {
	found := credential{token: string(secret.Data[corev1.ServiceAccountTokenKey]), ca: secret.Data[corev1.ServiceAccountRootCAKey]}
	return found, found.token != ""
}

// memberRules are the rights of the hub's account: it applies whatever Works
// say, and asks any non-resource URL such as /readyz.
func memberRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}},
		{Verbs: []string{"get"}, NonResourceURLs: []string{"*"}},
	}
}

func (m *member) ensureRights(ctx context.Context) error {
	name := MemberRole(m.cluster)
	if err := m.ensureRole(ctx, &rbacv1.ClusterRole{ObjectMeta: identity.SystemMeta("", name), Rules: memberRules()}); err != nil {
		return err
	}
	return m.ensureBinding(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: identity.SystemMeta("", name),
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: m.namespace, Name: MemberAccount(m.cluster)}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
	})
}

func (m *member) ensureRole(ctx context.Context, wanted *rbacv1.ClusterRole) error {
	roles := m.client.RbacV1().ClusterRoles()
	made, err := settle(ctx, func(ctx context.Context) (*rbacv1.ClusterRole, error) {
		return roles.Create(ctx, wanted, metav1.CreateOptions{})
	})
	if err == nil {
		m.undo.push("cluster role "+wanted.Name, func(ctx context.Context) error { return roles.Delete(ctx, wanted.Name, onlyThis(made.UID)) })
		return nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return reach.Fault("create cluster role "+wanted.Name, err)
	}
	current, err := roles.Get(ctx, wanted.Name, metav1.GetOptions{})
	if err != nil {
		return reach.Fault("read cluster role "+wanted.Name, err)
	}
	if equality.Semantic.DeepEqual(current.Rules, wanted.Rules) {
		return nil
	}
	current.Rules = wanted.Rules
	if _, err := roles.Update(ctx, current, metav1.UpdateOptions{}); err != nil {
		return reach.Fault("update cluster role "+wanted.Name, err)
	}
	return nil
}

func (m *member) ensureBinding(ctx context.Context, wanted *rbacv1.ClusterRoleBinding) error {
	bindings := m.client.RbacV1().ClusterRoleBindings()
	made, err := settle(ctx, func(ctx context.Context) (*rbacv1.ClusterRoleBinding, error) {
		return bindings.Create(ctx, wanted, metav1.CreateOptions{})
	})
	if err == nil {
		m.undo.push("cluster role binding "+wanted.Name, func(ctx context.Context) error { return bindings.Delete(ctx, wanted.Name, onlyThis(made.UID)) })
		return nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return reach.Fault("create cluster role binding "+wanted.Name, err)
	}
	current, err := bindings.Get(ctx, wanted.Name, metav1.GetOptions{})
	if err != nil {
		return reach.Fault("read cluster role binding "+wanted.Name, err)
	}
	if current.RoleRef != wanted.RoleRef {
		return fault.Conflict("cluster role binding %s in the member binds another role", wanted.Name).
			WithFix("remove that binding in the member, then join again")
	}
	if slices.Equal(current.Subjects, wanted.Subjects) {
		return nil
	}
	current.Subjects = wanted.Subjects
	if _, err := bindings.Update(ctx, current, metav1.UpdateOptions{}); err != nil {
		return reach.Fault("update cluster role binding "+wanted.Name, err)
	}
	return nil
}

// onlyThis makes a delete spare an object that has taken the place of ours.
func onlyThis(uid types.UID) metav1.DeleteOptions {
	background := metav1.DeletePropagationBackground
	return metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &background}
}

func (m *member) isAccount(subject rbacv1.Subject) bool {
	return subject.Kind == rbacv1.ServiceAccountKind && subject.Namespace == m.namespace && subject.Name == MemberAccount(m.cluster)
}
