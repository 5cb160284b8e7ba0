package clustermanager

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Parts of the original's hub that have a Deployment each there, and a well-known name. Here they are one process. Clients look their names
// up among the related resources (clusteradm gives up if one is missing, whatever the kind), and people look for them on the cluster.
const (
	registrationPart = "-registration-controller"
	placementPart    = "-placement-controller"
	addOnPart        = "-addon-manager-controller"
	// The webhooks have Deployments wherever an API server has to ask somebody.
	registrationWebhookPart = "-registration-webhook"
	workWebhookPart         = "-work-webhook"
)

// partNote says, under the name of a part that has no Deployment, where it runs instead.
func partNote(manager, namespace, part, where string) *corev1.ConfigMap {
	note := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: manager + part},
		Data:       map[string]string{"runs-in": where},
	}
	if part == addOnPart {
		note.Data["add-on-templates"] = "are not rendered; health and removal of add-ons are looked after"
	}
	return note
}

// partNotes are the notes of the parts that run in the hub's Deployment.
func (p plan) partNotes() []client.Object {
	where := "deployment " + p.namespace + "/" + p.hubDeployment()
	return []client.Object{partNote(p.name, p.namespace, placementPart, where), partNote(p.name, p.namespace, addOnPart, where)}
}
