package registry

import (
	"bytes"
	"errors"

	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/store"
)

// rangesGroup begins the keys of the allocations of services' addresses and ports.
const rangesGroup = "ranges"

// ranges are those keys. The store has the range as a line of text, and the bits of the items from
// the last one down.
var ranges = map[string]bool{"ranges/serviceips": true, "ranges/secondaryserviceips": true, "ranges/servicenodeports": true}

// IsRange reports whether a key is that of an allocation, which servers make anew.
func IsRange(key string) bool { return ranges[key] }

const (
	rangeVersion, rangeKind = "v1", "RangeAllocation"
	// noMetadata is the field of metadata without a value, as kube-apiserver writes it.
	noMetadata = "\x0a\x10\x0a\x00\x12\x00\x1a\x00\x22\x00\x2a\x00\x32\x00\x38\x00\x42\x00"
)

var errRange = errors.New("it is no allocation of a range; remove it while no server runs, and the servers make it anew")

func encodeRange(v store.Value) ([]byte, error) {
	text, bits, ok := bytes.Cut(v.Body, []byte("\n"))
	if !ok {
		return nil, errRange
	}
	data, _, err := codec.Sealed(nil, rangeVersion, rangeKind, func(dst []byte) ([]byte, error) {
		return codec.AppendBytesField(codec.AppendBytesField(append(dst, noMetadata...), 2, text), 3, bits), nil
	})
	return data, err
}

func decodeRange(data []byte) (store.Value, error) {
	version, kind, message, err := codec.OpenEnvelope(data)
	if err != nil {
		return store.Value{}, err
	}
	if version != rangeVersion || kind != rangeKind {
		return store.Value{}, errRange
	}
	var text, bits []byte
	if err := codec.EachBytesField(message, func(number uint32, contents []byte) error {
		switch number {
		case 2:
			text = contents
		case 3:
			bits = contents
		}
		return nil
	}); err != nil {
		return store.Value{}, err
	}
	if bytes.IndexByte(text, '\n') >= 0 {
		return store.Value{}, errRange
	}
	return store.Value{Body: append(append(bytes.Clone(text), '\n'), bits...), RevisionAt: -1}, nil
}
