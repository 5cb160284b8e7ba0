package joining

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"muster.dev/muster/backend/identity"
	"muster.dev/muster/backend/reach"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// PlannedObject is one object that a join creates, keeps or replaces.
type PlannedObject struct {
	// Where is "member" or "hub".
	Where string `json:"where" enums:"member,hub"`
	// Verb is "create", "keep", "update" or "replace".
	Verb      string `json:"verb" enums:"create,keep,update,replace"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty" validate:"optional"`
	Name      string `json:"name"`
} // @name cluster.PlannedObject

// plan reads what exists and says what the run would do about it.
func (j *join) plan(ctx context.Context) ([]PlannedObject, error) {
	var objects []PlannedObject
	add := func(where, kind, namespace, name string, verb func() (string, error)) error {
		decided, err := verb()
		if err == nil {
			objects = append(objects, PlannedObject{Where: where, Verb: decided, Kind: kind, Namespace: namespace, Name: name})
		}
		return err
	}
	m, core, rbac := j.member, j.member.client.CoreV1(), j.member.client.RbacV1()
	if err := add("member", "Namespace", "", j.Namespace, func() (string, error) {
		_, err := core.Namespaces().Get(ctx, j.Namespace, metav1.GetOptions{})
		return exists("member", err)
	}); err != nil {
		return nil, err
	}
	for _, account := range []string{ImpersonatorAccount, MemberAccount(j.Name)} {
		var uid string
		if err := add("member", "ServiceAccount", j.Namespace, account, func() (string, error) {
			found, err := core.ServiceAccounts(j.Namespace).Get(ctx, account, metav1.GetOptions{})
			if err == nil {
				uid = string(found.UID)
			}
			return exists("member", err)
		}); err != nil {
			return nil, err
		}
		if err := add("member", "Secret", j.Namespace, account, func() (string, error) {
			found, err := core.Secrets(j.Namespace).Get(ctx, account, metav1.GetOptions{})
			if err == nil && found.Annotations[corev1.ServiceAccountUIDKey] != uid {
				return "replace", nil
			}
			return exists("member", err)
		}); err != nil {
			return nil, err
		}
	}
	name := MemberRole(j.Name)
	if err := add("member", "ClusterRole", "", name, func() (string, error) {
		found, err := rbac.ClusterRoles().Get(ctx, name, metav1.GetOptions{})
		if err == nil && !equality.Semantic.DeepEqual(found.Rules, memberRules()) {
			return "update", nil
		}
		return exists("member", err)
	}); err != nil {
		return nil, err
	}
	if err := add("member", "ClusterRoleBinding", "", name, func() (string, error) {
		found, err := rbac.ClusterRoleBindings().Get(ctx, name, metav1.GetOptions{})
		if err == nil && !slices.ContainsFunc(found.Subjects, m.isAccount) {
			return "update", nil
		}
		return exists("member", err)
	}); err != nil {
		return nil, err
	}
	return j.planHub(ctx, objects)
}

func (j *join) planHub(ctx context.Context, objects []PlannedObject) ([]PlannedObject, error) {
	namespace := PlannedObject{Where: "hub", Kind: "Namespace", Name: j.Namespace}
	verb, err := exists("hub", j.Hub.Get(ctx, client.ObjectKey{Name: j.Namespace}, &corev1.Namespace{}))
	if err != nil {
		return nil, err
	}
	namespace.Verb = verb
	objects = append(objects, namespace)
	for _, name := range []string{identity.ImpersonatorSecret(j.Name), identity.CredentialSecret(j.Name)} {
		verb, err := exists("hub", j.Hub.Get(ctx, client.ObjectKey{Namespace: j.Namespace, Name: name}, &corev1.Secret{}))
		if err != nil {
			return nil, err
		}
		if verb == "keep" {
			verb = "replace"
		}
		objects = append(objects, PlannedObject{Where: "hub", Verb: verb, Kind: "Secret", Namespace: j.Namespace, Name: name})
	}
	return append(objects, PlannedObject{Where: "hub", Verb: "create", Kind: "Cluster", Name: j.Name}), nil
}

// exists turns the outcome of a read into the verb of a plan.
func exists(where string, err error) (string, error) {
	switch {
	case err == nil:
		return "keep", nil
	case apierrors.IsNotFound(err):
		return "create", nil
	case where == "hub":
		return "", hubFault("read what exists", err)
	}
	return "", reach.Fault("read what exists", err)
}
