package registry

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	workv1alpha1 "muster.dev/muster/backend/apis/work/v1alpha1"
)

// opaqueCodec stores Works so that reading one does not parse its manifests, which costs most of the time of a delivery otherwise. The
// bytes are
//
//	"mw1\0"  part  part...      part = length (4 bytes, little-endian), bytes
//
// where the first part is the Work as JSON without its manifests and every other part is a manifest as it came. Other kinds, and values
// that do not start with the magic, are JSON.
type opaqueCodec struct{ runtime.Codec }

var (
	opaqueMagic  = []byte("mw1\x00")
	errTruncated = errors.New("decode stored work: value is cut short")
)

const partHeader = 4

// Encode writes obj in its storage form.
func (c opaqueCodec) Encode(obj runtime.Object, w io.Writer) error {
	work, ok := obj.(*workv1alpha1.Work)
	if !ok {
		return c.Codec.Encode(obj, w)
	}
	head := *work
	head.APIVersion, head.Kind = workv1alpha1.GroupVersion.String(), workv1alpha1.ResourceKindWork
	head.Spec.Workload.Manifests = nil
	data, err := json.Marshal(&head)
	if err != nil {
		return fmt.Errorf("encode work: %w", err)
	}
	size := len(opaqueMagic) + partHeader + len(data)
	for _, manifest := range work.Spec.Workload.Manifests {
		size += partHeader + len(manifest.Raw)
	}
	out := append(make([]byte, 0, size), opaqueMagic...)
	out = appendPart(out, data)
	for i := range work.Spec.Workload.Manifests {
		raw, err := manifestBytes(&work.Spec.Workload.Manifests[i])
		if err != nil {
			return err
		}
		out = appendPart(out, raw)
	}
	_, err = w.Write(out)
	return err
}

// Decode reads the storage form.
func (c opaqueCodec) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	rest, ok := bytes.CutPrefix(data, opaqueMagic)
	if !ok {
		return c.Codec.Decode(data, defaults, into)
	}
	work, ok := into.(*workv1alpha1.Work)
	if !ok {
		work = &workv1alpha1.Work{}
	}
	head, rest, err := nextPart(rest)
	if err != nil {
		return nil, nil, err
	}
	if err := json.Unmarshal(head, work); err != nil {
		return nil, nil, fmt.Errorf("decode stored work: %w", err)
	}
	for len(rest) > 0 {
		var part []byte
		if part, rest, err = nextPart(rest); err != nil {
			return nil, nil, err
		}
		manifest := workv1alpha1.Manifest{}
		if len(part) > 0 {
			manifest.Raw = bytes.Clone(part)
		}
		work.Spec.Workload.Manifests = append(work.Spec.Workload.Manifests, manifest)
	}
	kind := workv1alpha1.GroupVersion.WithKind(workv1alpha1.ResourceKindWork)
	work.TypeMeta.APIVersion, work.TypeMeta.Kind = "", ""
	return work, &kind, nil
}

// Identifier distinguishes this codec from the one it wraps.
func (c opaqueCodec) Identifier() runtime.Identifier { return "opaque-work/" + c.Codec.Identifier() }

// manifestBytes returns the JSON of a manifest, which in-process callers may have given as an object.
func manifestBytes(manifest *workv1alpha1.Manifest) ([]byte, error) {
	if manifest.Raw != nil || manifest.Object == nil {
		return manifest.Raw, nil
	}
	data, err := json.Marshal(manifest.Object)
	if err != nil {
		return nil, fmt.Errorf("encode manifest: %w", err)
	}
	return data, nil
}

func appendPart(out, part []byte) []byte {
	out = binary.LittleEndian.AppendUint32(out, uint32(len(part)))
	return append(out, part...)
}

func nextPart(data []byte) (part, rest []byte, err error) {
	if len(data) < partHeader {
		return nil, nil, errTruncated
	}
	size := binary.LittleEndian.Uint32(data)
	data = data[partHeader:]
	if uint64(len(data)) < uint64(size) {
		return nil, nil, errTruncated
	}
	return data[:size], data[size:], nil
}
