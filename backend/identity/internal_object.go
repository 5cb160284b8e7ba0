package identity

import (
	"reflect"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"

	"muster.dev/muster/backend/apis"
)

// internalObject reads a built-in object as admission sees it. Inside the API
// server that is Kubernetes' internal type, which only package controlplane may
// link; its fields have the names of the published type, so that they are read
// by name and the same code takes both.
type internalObject struct{ runtime.Object }

// field returns a field by its path of Go names; it is not valid if there is no
// such field.
func (o internalObject) field(path ...string) reflect.Value {
	value := reflect.ValueOf(o.Object)
	for _, name := range path {
		if value.Kind() == reflect.Pointer {
			value = value.Elem()
		}
		if value.Kind() != reflect.Struct {
			return reflect.Value{}
		}
		value = value.FieldByName(name)
	}
	return value
}

func (o internalObject) text(path ...string) string {
	if value := o.field(path...); value.Kind() == reflect.String {
		return value.String()
	}
	return ""
}

func (o internalObject) bytes(path ...string) []byte {
	if value := o.field(path...); value.Kind() == reflect.Slice && value.Type().Elem().Kind() == reflect.Uint8 {
		return value.Bytes()
	}
	return nil
}

func (o internalObject) texts(path ...string) []string {
	value := o.field(path...)
	if value.Kind() != reflect.Slice || value.Type().Elem().Kind() != reflect.String {
		return nil
	}
	texts := make([]string, value.Len())
	for i := range texts {
		texts[i] = value.Index(i).String()
	}
	return texts
}

// requestOf reads the agent's identity that a certificate request asks for.
func requestOf(a admission.Attributes) (agentRequest, error) {
	object := internalObject{a.GetObject()}
	var usages []certificatesv1.KeyUsage
	for _, usage := range object.texts("Spec", "Usages") {
		usages = append(usages, certificatesv1.KeyUsage(usage))
	}
	return parseAgentRequest(nameOf(a), object.text("Spec", "SignerName"), usages, object.bytes("Spec", "Request"))
}

// limitHelper shortens the life of a helper's certificate, whoever asks for it
// and however long (contract section 6.4).
func limitHelper(a admission.Attributes) {
	object := internalObject{a.GetObject()}
	parsed, err := parseCertificateRequest(object.bytes("Spec", "Request"))
	if err != nil || parsed.Subject.CommonName != apis.RBACGeneratorUser {
		return
	}
	seconds := object.field("Spec", "ExpirationSeconds")
	if seconds.CanSet() && seconds.Kind() == reflect.Pointer && seconds.Type().Elem().Kind() == reflect.Int32 {
		limit := int32(helperLifetime.Seconds())
		seconds.Set(reflect.ValueOf(&limit))
	}
}
