package workload

import (
	"maps"
	"slices"

	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
	"muster.dev/muster/backend/workload/fact"
)

// graph builds a topology.
type graph struct{ Topology }

// add puts a node behind another one and returns its id.
func (g *graph) add(after string, node Node) string {
	node.ID = string(node.Kind)
	if node.Cluster != "" {
		node.ID += "/" + node.Cluster
	}
	g.Nodes = append(g.Nodes, node)
	if after != "" {
		g.Edges = append(g.Edges, Edge{From: after, To: node.ID})
	}
	return node.ID
}

// topology is the way of the workload from its policy to its pods.
func (v view) topology(around surroundings) Topology {
	g := &graph{Topology{Nodes: []Node{}, Edges: []Edge{}}}
	last := g.add("", v.policyNode(around))
	last = g.add(last, v.templateNode())
	if v.binding == nil {
		if v.policy() != nil {
			missing := Node{Kind: NodeBinding, Label: v.ref.Name, State: NodePending, Reason: fact.Say(fact.LevelWarn, fact.CodeBindingMissing).Text}
			if v.stuck() {
				missing.State, missing.Reason = NodeFailed, v.stuckFact().Text
			}
			g.add(last, missing)
		}
		g.Broken = firstBroken(g.Nodes)
		return g.Topology
	}
	hops := v.hops()
	last = g.add(last, v.bindingNode(hops))
	for i := range hops {
		v.cluster(g, last, &hops[i], around)
	}
	known := map[string]bool{}
	for i := range hops {
		known[hops[i].Name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(v.works)) {
		if !known[name] {
			going := fact.Say(fact.LevelInfo, fact.CodeWorkGoing, "cluster", name)
			g.add(last, Node{Kind: NodeWork, Label: v.works[name].Name, Cluster: name, State: NodeProgressing, Reason: going.Text, Ref: workRef(v.works[name])})
		}
	}
	g.Broken = firstBroken(g.Nodes)
	return g.Topology
}

func (v view) policyNode(around surroundings) Node {
	said := v.policyFact(around)
	node := Node{Kind: NodePolicy, State: NodeOK, Ref: said.Link}
	if holder := v.policy(); holder != nil {
		node.Label, node.Detail = holder.Name, map[string]string{"kind": holder.Kind}
	}
	switch said.Code {
	case fact.CodePolicyHolds:
	case fact.CodePolicyAttached:
		node.Label = said.Params["parent"]
	case fact.CodePolicyManagedBy:
		node.Label = said.Params["component"]
	case fact.CodePolicyComing:
		node.Label, node.State, node.Reason = around.coming.Name, NodePending, said.Text
		if v.stuck() { // it tries to, in vain
			node.State, node.Reason = NodeFailed, v.stuckFact().Text
		}
	case fact.CodePolicyRemoved:
		node.Reason = said.Text // it still runs
	default:
		node.State, node.Reason, node.Ref = NodeMissing, said.Text, nil
	}
	return node
}

func (v view) templateNode() Node {
	node := Node{
		Kind: NodeTemplate, Label: v.ref.Name, State: NodeOK, Detail: map[string]string{"kind": v.ref.Kind},
		Ref: &fact.ObjectRef{APIVersion: v.ref.APIVersion, Kind: v.ref.Kind, Namespace: v.ref.Namespace, Name: v.ref.Name},
	}
	if facts := v.templateFacts(); len(facts) > 0 {
		node.State, node.Reason = NodeMissing, facts[0].Text
		if facts[0].Code == fact.CodeTemplateGoing {
			node.State = NodeProgressing
		}
	}
	return node
}

func (v view) bindingNode(hops []hop) Node {
	spec := v.binding.BindingSpec()
	node := Node{Kind: NodeBinding, Label: v.binding.GetName(), State: NodeOK, Ref: v.bindingRef(), Detail: map[string]string{"clusters": fact.Number(len(hops))}}
	if fact.Counted(spec) {
		node.Detail["replicas"] = fact.Number(spec.Replicas)
	}
	if scheduled := conditionOf(v.binding, workv1alpha2.Scheduled); scheduled != nil {
		node.Detail["scheduled"] = scheduled.Status
	}
	switch said := v.scheduleFact(hops); {
	case v.stuck():
		node.State, node.Reason = NodeFailed, v.stuckFact().Text
	case said.Level == fact.LevelError:
		node.State, node.Reason = NodeFailed, said.Text
	case v.needsStuck():
		node.State, node.Reason = NodeFailed, v.needsFact().Text
	case said.Code == fact.CodeScheduleStale, len(hops) == 0:
		node.State, node.Reason = NodePending, said.Text
	}
	return node
}

// cluster adds the hops of one cluster.
func (v view) cluster(g *graph, after string, h *hop, around surroundings) {
	work := Node{Kind: NodeWork, Cluster: h.Name, State: NodeOK}
	object := Node{
		Kind: NodeObject, Label: v.ref.Name, Cluster: h.Name, State: NodeOK, Detail: map[string]string{"health": healthOf(h.work)},
		Ref: &fact.ObjectRef{APIVersion: v.ref.APIVersion, Kind: v.ref.Kind, Namespace: v.ref.Namespace, Name: v.ref.Name},
	}
	if h.work != nil {
		work.Label, work.Ref = h.work.Name, workRef(h.work)
	}
	switch {
	case h.work == nil:
		work.State, work.Reason, object.State = NodeMissing, h.fact.Text, NodeMissing
	case h.fact.Code == fact.CodeWorkStuck: // what was sent before is there
		if work.State, work.Reason = NodeFailed, h.fact.Text; !h.Applied {
			object.State = NodePending
		}
	case h.State == PlacedFailed:
		work.State, work.Reason, object.State = NodeFailed, h.fact.Text, NodeMissing
		if h.fact.Code == fact.CodeWorkConflict {
			object.State, object.Reason = NodeFailed, h.fact.Text
		}
	case h.State == PlacedPending, h.State == PlacedSuspended:
		work.State, work.Reason = NodePending, h.fact.Text
		if !h.Applied {
			object.State = NodePending
		}
	case h.State == PlacedProgressing:
		object.State, object.Reason = NodeProgressing, h.fact.Text
	}
	if said, bad := memberFact(h.Name, around.cluster(h.Name)); bad {
		if object.State == NodeOK || object.State == NodeProgressing {
			object.State = NodePending // what was last heard may be old
		}
		object.Reason = said.Text
	}
	last := g.add(g.add(after, work), object)
	if h.counted {
		g.add(last, v.pods(h, object.State))
	}
}

// pods stands for the pods of one cluster, by what the member counts.
func (v view) pods(h *hop, object NodeState) Node {
	node := Node{Kind: NodePods, Cluster: h.Name, Label: fact.Number(h.ready) + "/" + fact.Number(h.wanted), State: NodeOK}
	reported := h.report()
	node.Detail = reported.numbers()
	node.Detail["ready"], node.Detail["wanted"] = fact.Number(h.ready), fact.Number(h.wanted)
	switch {
	case object == NodeMissing, !h.Applied:
		node.State = NodeMissing
	case h.ready < h.wanted:
		node.State = NodeProgressing
		node.Reason = fact.Say(fact.LevelWarn, fact.CodeHealthUnready, "cluster", h.Name, "ready", fact.Number(h.ready), "wanted", fact.Number(h.wanted)).Text
	}
	return node
}

// firstBroken finds the hop to look at: the first in the order of propagation
// that does not work, and if all do, the first that is not done.
func firstBroken(nodes []Node) string {
	for _, rounds := range [][][]NodeState{{{NodeFailed, NodeMissing}, {NodePending}}, {{NodeProgressing}}} {
		for _, kind := range []NodeKind{NodePolicy, NodeTemplate, NodeBinding, NodeWork, NodeObject, NodePods} {
			for _, states := range rounds {
				for i := range nodes {
					if nodes[i].Kind == kind && slices.Contains(states, nodes[i].State) {
						return nodes[i].ID
					}
				}
			}
		}
	}
	return ""
}
