package estimator

import (
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	workv1alpha2 "muster.dev/muster/backend/apis/work/v1alpha2"
)

// method is the one that is called, a unary one.
const method = "/github.com.karmada_io.karmada.pkg.estimator.service.Estimator/MaxAvailableReplicas"

// Field numbers of the messages. What is a Kubernetes value in them is bytes: its
// own protobuf form.
const (
	requestCluster      protowire.Number = 1
	requestRequirements protowire.Number = 2

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

// question encodes the request about a cluster; need may be nil.
func question(cluster string, need *workv1alpha2.ReplicaRequirements) ([]byte, error) {
	out := appendText(nil, requestCluster, cluster)
	if need == nil {
		return out, nil
	}
	requirements, err := requirementsOf(need)
	if err != nil {
		return nil, fmt.Errorf("encode requirements: %w", err)
	}
	return appendPart(out, requestRequirements, requirements), nil
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
	for _, name := range slices.Sorted(maps.Keys(need.ResourceRequest)) {
		quantity := need.ResourceRequest[name]
		raw, err := quantity.Marshal()
		if err != nil {
			return nil, err
		}
		out = appendPart(out, requirementsRequests, appendPart(appendText(nil, mapKey, string(name)), mapValue, raw))
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

// answer decodes a response: the number of replicas.
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
