package estimator

import (
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	corev1 "k8s.io/api/core/v1"

	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// The methods that are called, both unary.
const (
	service     = "/github.com.karmada_io.karmada.pkg.estimator.service.Estimator/"
	askReplicas = service + "MaxAvailableReplicas"
	askSets     = service + "MaxAvailableComponentSets"
)

// Field numbers of the messages. What is a Kubernetes value in them is bytes: its
// own protobuf form.
const (
	requestCluster      protowire.Number = 1
	requestRequirements protowire.Number = 2
	requestAssumed      protowire.Number = 3 // repeated

	setsComponents protowire.Number = 2 // repeated
	setsNamespace  protowire.Number = 3
	setsAssumed    protowire.Number = 4 // repeated

	assumedNamespace  protowire.Number = 1
	assumedComponents protowire.Number = 2 // repeated

	componentName         protowire.Number = 1
	componentRequirements protowire.Number = 2
	componentReplicas     protowire.Number = 3 // int32
	componentNeedsClaim   protowire.Number = 1
	componentNeedsClass   protowire.Number = 3
	componentNeedsAmounts protowire.Number = 4 // map

	requirementsNodeClaim     protowire.Number = 1
	requirementsNamespace     protowire.Number = 3
	requirementsPriorityClass protowire.Number = 4
	requirementsRequests      protowire.Number = 5 // map

	claimNodeSelector protowire.Number = 2 // map
	claimNodeAffinity protowire.Number = 4
	claimTolerations  protowire.Number = 5 // repeated

	mapKey   protowire.Number = 1
	mapValue protowire.Number = 2

	answerReplicas protowire.Number = 1 // int32
)

// question is what one estimator is asked.
type question struct {
	method  string
	request []byte
}

// assumedLimit bounds what one question tells of assumed workloads, in bytes: servers
// of the field refuse messages of more than 4 MiB.
const assumedLimit = 3 << 20

// replicasQuestion encodes the request about a cluster; need may be nil.
func replicasQuestion(cluster string, need *workv1alpha2.ReplicaRequirements, assumed []Workload) ([]byte, error) {
	out := appendText(nil, requestCluster, cluster)
	if need != nil {
		requirements, err := requirementsOf(need)
		if err != nil {
			return nil, fmt.Errorf("encode requirements: %w", err)
		}
		out = appendPart(out, requestRequirements, requirements)
	}
	return appendAssumed(out, requestAssumed, assumed)
}

// setsQuestion encodes the request for whole sets of parts.
func setsQuestion(cluster string, set Workload, assumed []Workload) ([]byte, error) {
	out, err := appendComponents(appendText(nil, requestCluster, cluster), setsComponents, set.Parts)
	if err != nil {
		return nil, err
	}
	return appendAssumed(appendText(out, setsNamespace, set.Namespace), setsAssumed, assumed)
}

// appendAssumed tells of the latest workloads where there is no room for all: those
// that came before are the likelier to be seen by now.
func appendAssumed(out []byte, field protowire.Number, workloads []Workload) ([]byte, error) {
	told := make([][]byte, len(workloads))
	first := len(workloads)
	for size := 0; first > 0; first-- {
		w := &workloads[first-1]
		encoded, err := appendComponents(appendText(nil, assumedNamespace, w.Namespace), assumedComponents, w.Parts)
		if err != nil {
			return nil, fmt.Errorf("encode assumed workload: %w", err)
		}
		if size += protowire.SizeTag(field) + protowire.SizeBytes(len(encoded)); size > assumedLimit {
			break
		}
		told[first-1] = encoded
	}
	for _, encoded := range told[first:] {
		out = appendPart(out, field, encoded)
	}
	return out, nil
}

func appendComponents(out []byte, field protowire.Number, parts []workv1alpha2.Component) ([]byte, error) {
	for i := range parts {
		part := appendText(nil, componentName, parts[i].Name)
		if need := parts[i].ReplicaRequirements; need != nil {
			requirements, err := componentNeeds(need)
			if err != nil {
				return nil, fmt.Errorf("encode requirements of part %s: %w", parts[i].Name, err)
			}
			part = appendPart(part, componentRequirements, requirements)
		}
		part = protowire.AppendVarint(protowire.AppendTag(part, componentReplicas, protowire.VarintType), uint64(parts[i].Replicas))
		out = appendPart(out, field, part)
	}
	return out, nil
}

func componentNeeds(need *workv1alpha2.ReplicaRequirements) ([]byte, error) {
	var out []byte
	if need.NodeClaim != nil {
		claim, err := claimOf(need.NodeClaim)
		if err != nil {
			return nil, err
		}
		out = appendPart(out, componentNeedsClaim, claim)
	}
	return appendAmounts(appendText(out, componentNeedsClass, need.PriorityClassName), componentNeedsAmounts, need.ResourceRequest)
}

func requirementsOf(need *workv1alpha2.ReplicaRequirements) ([]byte, error) {
	var out []byte
	if need.NodeClaim != nil {
		claim, err := claimOf(need.NodeClaim)
		if err != nil {
			return nil, err
		}
		out = appendPart(out, requirementsNodeClaim, claim)
	}
	out = appendText(out, requirementsNamespace, need.Namespace)
	out = appendText(out, requirementsPriorityClass, need.PriorityClassName)
	return appendAmounts(out, requirementsRequests, need.ResourceRequest)
}

func appendAmounts(out []byte, field protowire.Number, amounts corev1.ResourceList) ([]byte, error) {
	for _, name := range slices.Sorted(maps.Keys(amounts)) {
		quantity := amounts[name]
		raw, err := quantity.Marshal()
		if err != nil {
			return nil, err
		}
		out = appendPart(out, field, appendPart(appendText(nil, mapKey, string(name)), mapValue, raw))
	}
	return out, nil
}

func claimOf(claim *workv1alpha2.NodeClaim) ([]byte, error) {
	var out []byte
	for _, key := range slices.Sorted(maps.Keys(claim.NodeSelector)) {
		out = appendPart(out, claimNodeSelector, appendText(appendText(nil, mapKey, key), mapValue, claim.NodeSelector[key]))
	}
	if claim.HardNodeAffinity != nil {
		raw, err := claim.HardNodeAffinity.Marshal()
		if err != nil {
			return nil, err
		}
		out = appendPart(out, claimNodeAffinity, raw)
	}
	for i := range claim.Tolerations {
		raw, err := claim.Tolerations[i].Marshal()
		if err != nil {
			return nil, err
		}
		out = appendPart(out, claimTolerations, raw)
	}
	return out, nil
}

func appendPart(out []byte, number protowire.Number, part []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(out, number, protowire.BytesType), part)
}

// appendText leaves out the empty text, which means the same.
func appendText(out []byte, number protowire.Number, text string) []byte {
	if text == "" {
		return out
	}
	return appendPart(out, number, []byte(text))
}

// answer decodes a response of either kind: the number of replicas or of sets.
func answer(raw []byte) (int32, error) {
	replicas := int32(0) // a zero is not written
	for len(raw) > 0 {
		number, kind, n := protowire.ConsumeTag(raw)
		if n < 0 {
			return 0, fmt.Errorf("decode answer: %w", protowire.ParseError(n))
		}
		raw = raw[n:]
		if number == answerReplicas && kind == protowire.VarintType {
			value, n := protowire.ConsumeVarint(raw)
			if n < 0 {
				return 0, fmt.Errorf("decode answer: %w", protowire.ParseError(n))
			}
			replicas, raw = int32(value), raw[n:]
			continue
		}
		if n = protowire.ConsumeFieldValue(number, kind, raw); n < 0 {
			return 0, fmt.Errorf("decode answer: %w", protowire.ParseError(n))
		}
		raw = raw[n:]
	}
	if replicas < 0 {
		return 0, fmt.Errorf("decode answer: %d replicas", replicas)
	}
	return replicas, nil
}

// bytesCodec hands messages to gRPC as the bytes that they are.
type bytesCodec struct{}

// Name implements encoding.Codec: to the server these are protobuf messages.
func (bytesCodec) Name() string { return "proto" }

// Marshal implements encoding.Codec.
func (bytesCodec) Marshal(message any) ([]byte, error) {
	raw, ok := message.(*[]byte)
	if !ok {
		return nil, fmt.Errorf("encode %T: not bytes", message)
	}
	return *raw, nil
}

// Unmarshal implements encoding.Codec.
func (bytesCodec) Unmarshal(data []byte, message any) error {
	raw, ok := message.(*[]byte)
	if !ok {
		return fmt.Errorf("decode %T: not bytes", message)
	}
	*raw = slices.Clone(data) // the buffer is gRPC's
	return nil
}
