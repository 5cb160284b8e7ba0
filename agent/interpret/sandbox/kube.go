package sandbox

import (
	"encoding/json"

	lua "github.com/yuin/gopher-lua"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"muster.dev/muster/agent/interpret/native"
	configv1alpha1 "muster.dev/muster/backend/apis/config/v1alpha1"
)

// kubeModule is the module that scripts may require. Its names and arguments are
// those documented for users of the API:
//
//	kube.accuratePodRequirements(podTemplate)         what a pod of the template needs
//	kube.getPodDependencies(podTemplate, namespace)   the objects it needs beside it
//	kube.getResourceQuantity("100m")                  0.1
const kubeModule = "kube"

func (m *machine) newKube() *lua.LTable {
	return m.state.SetFuncs(m.state.NewTable(), map[string]lua.LGFunction{
		"accuratePodRequirements": func(state *lua.LState) int {
			return m.push(native.PodRequirements(m.template(), ""))
		},
		"getPodDependencies": func(state *lua.LState) int {
			list := native.PodDependencies(m.template(), state.OptString(2, ""))
			return m.push(append([]configv1alpha1.DependentObjectReference{}, list...)) // a table even if there are none
		},
		"getResourceQuantity": func(state *lua.LState) int {
			quantity, err := resource.ParseQuantity(state.CheckString(1))
			if err != nil {
				state.RaiseError("kube.getResourceQuantity: %s is no quantity", state.CheckString(1))
			}
			state.Push(lua.LNumber(quantity.AsApproximateFloat64()))
			return 1
		},
	})
}

// template reads the first argument as a pod template.
func (m *machine) template() *corev1.PodTemplateSpec {
	template := &corev1.PodTemplateSpec{}
	lean := *m.tables
	lean.dropEmpty = true
	raw, err := lean.encode(m.state.CheckTable(1))
	if err == nil {
		err = json.Unmarshal(raw, template)
	}
	if err != nil {
		m.state.RaiseError("this is no pod template: %s", err.Error())
	}
	return template
}

// push returns a Go value to the script.
func (m *machine) push(value any) int {
	raw, err := json.Marshal(value)
	if err != nil {
		m.state.RaiseError("%s", err.Error())
	}
	result, err := m.tables.decode(raw)
	if err != nil {
		m.state.RaiseError("%s", err.Error())
	}
	m.state.Push(result)
	return 1
}
