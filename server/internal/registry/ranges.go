package registry

import (
	"bytes"
	"encoding/json"
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

// rangeText is an allocation as text.
type rangeText struct {
	Kind       string   `json:"kind"`
	APIVersion string   `json:"apiVersion"`
	Metadata   struct{} `json:"metadata"`
	Range      string   `json:"range"`
	Data       []byte   `json:"data"`
}

func encodeRange(v store.Value, format codec.Format) ([]byte, error) {
	text, bits, ok := bytes.Cut(v.Body, []byte("\n"))
	if !ok {
		return nil, errRange
	}
	if format != codec.Binary {
		data, err := json.Marshal(rangeText{Kind: rangeKind, APIVersion: rangeVersion, Range: string(text), Data: bits})
		if err != nil || format == codec.JSON {
			return append(data, '\n'), err
		}
		return codec.ToYAML(data)
	}
	data, _, err := codec.Sealed(nil, rangeVersion, rangeKind, func(dst []byte) ([]byte, error) {
		return codec.AppendBytesField(codec.AppendBytesField(append(dst, noMetadata...), 2, text), 3, bits), nil
	})
	return data, err
}

func decodeRange(data []byte) (store.Value, error) {
	o, err := open(data)
	if err != nil {
		return store.Value{}, err
	}
	if o.apiVersion != rangeVersion || o.kind != rangeKind {
		return store.Value{}, errRange
	}
	var text, bits []byte
	if !o.binary {
		var r rangeText
		if err := json.Unmarshal(o.content, &r); err != nil {
			return store.Value{}, err
		}
		text, bits = []byte(r.Range), r.Data
	} else if err := codec.EachBytesField(o.content, func(number uint32, contents []byte) error {
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
