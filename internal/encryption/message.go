package encryption

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/capstan-dev/capstan/internal/grpc"
)

// The messages of key management services have texts, bytes and one map, so they are
// written field by field.

// annotation is an entry of a map from texts to bytes.
type annotation struct {
	key   string
	value []byte
}

func appendAnnotations(dst []byte, field protowire.Number, all []annotation) []byte {
	for _, a := range all {
		dst = grpc.AppendBytes(dst, field, grpc.AppendBytes(grpc.AppendBytes(nil, 1, []byte(a.key)), 2, a.value))
	}
	return dst
}

// readAnnotation reads an entry of a map.
func readAnnotation(entry []byte) (a annotation) {
	grpc.Fields(entry, func(field protowire.Number, value []byte) {
		switch field {
		case 1:
			a.key = string(value)
		case 2:
			a.value = value
		}
	})
	return a
}

// wrapped is a key as a service has encrypted it, with what the service needs to decrypt
// it.
type wrapped struct {
	key         []byte
	keyID       string
	annotations []annotation
}

// appendTo appends the form in records.
func (w *wrapped) appendTo(dst []byte) []byte {
	return appendAnnotations(grpc.AppendBytes(grpc.AppendBytes(dst, 1, w.key), 2, []byte(w.keyID)), 3, w.annotations)
}

func readWrapped(text []byte) (w wrapped, ok bool) {
	ok = grpc.Fields(text, func(field protowire.Number, value []byte) {
		switch field {
		case 1:
			w.key = value
		case 2:
			w.keyID = string(value)
		case 3:
			w.annotations = append(w.annotations, readAnnotation(value))
		}
	})
	return w, ok && len(w.key) > 0
}
