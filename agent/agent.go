// Package agent is muster-agent: what a member cluster runs to belong to a hub.
//
//	┌────────────┐ no identity ┌────────────┐
//	│   start    ├────────────►│    join    │ package join: from a token, in the
//	└─────┬──────┘             └─────┬──────┘ pod itself or by "register"
//	      │ identity                 │
//	      ▼                          ▼
//	┌───────────────────────────────────────┐  hub: removed   ┌──────────────┐
//	│ run: heartbeat, inventory, apply,     ├────────────────►│ ErrRemoved:  │
//	│ tunnel, rotation, side by side        │                 │ nothing more │
//	└───────────────────────────────────────┘                 └──────────────┘
//
// Its identity Secret is its only state. It imports nothing of the hub but the
// contracts.
package agent

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"muster.dev/muster/agent/apply"
	"muster.dev/muster/agent/heartbeat"
	"muster.dev/muster/agent/interpret"
	"muster.dev/muster/agent/inventory"
	"muster.dev/muster/agent/join"
	"muster.dev/muster/agent/manifestwork"
	"muster.dev/muster/agent/tunnel"
	"muster.dev/muster/backend/agentapi"
	configv1alpha1 "muster.dev/muster/backend/apis/config/v1alpha1"
)

// Version is the release of this agent; its command sets it.
var Version = "dev"

// ErrRemoved says that the hub has removed the cluster. It is noted beside the
// identity: only registering again brings the agent back.
var ErrRemoved = tunnel.ErrRemoved

// Config is what an agent runs with.
type Config struct {
	// Member reaches the member's API.
	Member *rest.Config
	// Store holds the identity.
	Store *join.Store
	join.Description
	// Definitions installs what the member needs for ManifestWorks; nil: it has it.
	Definitions func(ctx context.Context) error
	Log         *slog.Logger
}

// Run serves the hub until ctx ends. It returns ErrRemoved once the hub has
// removed the cluster, and join.ErrNoIdentity if the member is not registered.
func Run(ctx context.Context, c Config) error {
	identity, err := c.Store.Load(ctx)
	if err != nil {
		return err
	}
	if identity.Removed {
		return ErrRemoved
	}
	id, err := memberID(ctx, c)
	if err != nil {
		return err
	}
	a, err := assemble(c, identity, id)
	if err != nil {
		return err
	}
	defer a.interpreter.Close()
	c.Log.Info("agent starts", "cluster", identity.Cluster, "hub", identity.Server, "agent", Version)
	group, ctx := errgroup.WithContext(ctx)
	for _, start := range []func(context.Context) error{a.heart.Start, a.collector.Start, a.worker.Start, a.link.Start, a.rotator.Start, a.notes.Start, a.carrier.Start} {
		group.Go(func() error { return start(ctx) })
	}
	err = group.Wait()
	if errors.Is(err, ErrRemoved) {
		a.notes.last(identity.Cluster)
	}
	return err
}

// memberID waits until the member's API tells who it is.
func memberID(ctx context.Context, c Config) (types.UID, error) {
	config := rest.CopyConfig(c.Member)
	config.Timeout = 10 * time.Second
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", fmt.Errorf("client of the member: %w", err)
	}
	for pause := 500 * time.Millisecond; ; pause = min(2*pause, 10*time.Second) {
		namespace, err := client.CoreV1().Namespaces().Get(ctx, metav1.NamespaceSystem, metav1.GetOptions{})
		if err == nil {
			return namespace.UID, nil
		}
		c.Log.Warn("the member does not answer", "error", err, "retry", pause)
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return "", ctx.Err()
		case <-timer.C:
		}
	}
}

// agent is the running parts. It is the tunnel's handler.
type agent struct {
	config    Config
	id        types.UID
	instance  string
	heart     *heartbeat.Heart
	collector *inventory.Collector
	worker    *apply.Worker
	link      *tunnel.Client
	rotator   *join.Rotator
	notes     *notes
	carrier   *carrier

	interpreter *interpret.Interpreter
	lessons     lessons
}

// lessons are lists of interpreters of which not all frames have arrived.
type lessons struct {
	customizations []configv1alpha1.ResourceInterpreterCustomization
	webhooks       []configv1alpha1.ResourceInterpreterWebhookConfiguration
}

func assemble(c Config, identity *join.Identity, id types.UID) (*agent, error) {
	a := &agent{config: c, id: id, instance: randomID(), notes: newNotes(c.Store, c.Log)}
	send := func(f agentapi.Frame) { a.link.Send(f) }
	a.heart = heartbeat.New(send)
	a.interpreter = interpret.New(interpret.Options{Sandbox: interpret.OwnSandbox(), Log: c.Log})
	applier, err := apply.New(c.Member, apply.WithInterpreter(a.interpreter))
	if err != nil {
		return nil, err
	}
	a.worker = apply.NewWorker(applier, c.Log, func(ack *agentapi.Ack) { send(ack) })
	a.collector, err = inventory.New(c.Member, inventory.Options{OnChange: a.heart.Report})
	if err != nil {
		return nil, err
	}
	a.carrier = newCarrier(send, c.Log)
	a.carrier.prepare = a.prepareManifestWorks
	a.carrier.worker = func(works manifestwork.Works) (*manifestwork.Agent, error) {
		return manifestwork.New(manifestwork.Options{Cluster: identity.Cluster, AgentID: string(id), Server: identity.Server, Works: works, Member: c.Member, Log: c.Log})
	}
	a.link, err = tunnel.New(tunnel.Options{Server: identity.Server, CA: identity.CA, Certificate: c.Store.Certificate, Handler: a, Log: c.Log})
	if err != nil {
		return nil, err
	}
	a.rotator = &join.Rotator{Store: c.Store, Log: c.Log, Renewed: a.link.Redial, Failed: func(why string) {
		send(&agentapi.Log{Level: agentapi.LevelError, Message: why})
	}}
	return a, nil
}

func randomID() string {
	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails
	return hex.EncodeToString(id)
}

// Hello implements tunnel.Handler.
func (a *agent) Hello() *agentapi.Hello {
	d := a.config.Description
	h := &agentapi.Hello{
		Protocol: agentapi.Protocol, MinProtocol: agentapi.MinProtocol, AgentVersion: Version, Instance: a.instance,
		ClusterID: string(a.id), ClusterNamespace: d.ClusterNamespace, Provider: d.Provider, Region: d.Region, Zones: d.Zones,
		APIEndpoint: d.APIEndpoint, ProxyURL: d.ProxyURL, Resume: a.worker.Resume(),
	}
	if identity := a.config.Store.Current(); identity != nil {
		h.ClusterUID = identity.ClusterUID
	}
	return h
}

// Welcome implements tunnel.Handler.
func (a *agent) Welcome(w *agentapi.Welcome) {
	a.collector.SetModels(w.ResourceModels)
	a.heart.Begin(w)
	a.worker.Begin(w)
	a.notes.welcomed(w.ClusterUID)
	a.carrier.welcomed(w.Protocol)
}

// Frame implements tunnel.Handler.
func (a *agent) Frame(f agentapi.Frame) error {
	switch f := f.(type) {
	case *agentapi.Work:
		return a.worker.Deliver(f)
	case *agentapi.Synced:
		if !a.worker.Synced(f) {
			return errors.New("the hub has other works than the agent: asking for all of them")
		}
	case *agentapi.Confirmed:
		a.worker.Confirmed(f)
	case *agentapi.Interpreters:
		return a.learn(f)
	case *agentapi.ManifestWork:
		return a.carrier.deliver(f)
	case *agentapi.ManifestAnswer:
		a.carrier.answered(f)
	case *agentapi.Config:
		a.collector.SetModels(f.ResourceModels)
	default:
		return &agentapi.MalformedError{Type: f.Type(), Reason: "not expected here"}
	}
	return nil
}

// learn takes over how kinds are to be interpreted, once all of it is here.
func (a *agent) learn(f *agentapi.Interpreters) error {
	customizations, webhooks, err := f.Objects()
	if err != nil {
		return err
	}
	if f.First {
		a.lessons = lessons{}
	}
	a.lessons.customizations = append(a.lessons.customizations, customizations...)
	a.lessons.webhooks = append(a.lessons.webhooks, webhooks...)
	if f.More {
		return nil
	}
	a.interpreter.SetCustomizations(a.lessons.customizations)
	a.interpreter.SetWebhooks(a.lessons.webhooks)
	a.lessons = lessons{}
	return nil
}

// Refused implements tunnel.Handler.
func (a *agent) Refused(r *agentapi.Refused) { a.notes.refused(r) }

// Fenced implements tunnel.Handler.
func (a *agent) Fenced() {
	a.worker.Close()
	a.carrier.fenced()
}
