package encryption

import (
	"google.golang.org/protobuf/encoding/protowire"
)

// The messages of key management services have texts, bytes and one map, so they are
// written field by field.

func appendBytes(dst []byte, field protowire.Number, value []byte) []byte {
	if len(value) == 0 {
		return dst
	}
	return protowire.AppendBytes(protowire.AppendTag(dst, field, protowire.BytesType), value)
}

// annotation is an entry of a map from texts to bytes.
type annotation struct {
	key   string
	value []byte
}

func appendAnnotations(dst []byte, field protowire.Number, all []annotation) []byte {
	for _, a := range all {
		dst = appendBytes(dst, field, appendBytes(appendBytes(nil, 1, []byte(a.key)), 2, a.value))
	}
	return dst
}

// fields calls visit with each field of bytes in a message, and reports whether the
// message is whole.
func fields(message []byte, visit func(field protowire.Number, value []byte)) bool {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return false
		}
		message = message[n:]
		if kind == protowire.BytesType {
			value, n := protowire.ConsumeBytes(message)
			if n < 0 {
				return false
			}
			visit(field, value)
			message = message[n:]
			continue
		}
		if n = protowire.ConsumeFieldValue(field, kind, message); n < 0 {
			return false
		}
		message = message[n:]
	}
	return true
}

// number is the last value of a field of a number in a message that is whole; 0 for none.
func number(message []byte, of protowire.Number) (value uint64) {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		size := protowire.ConsumeFieldValue(field, kind, message[n:])
		if field == of && kind == protowire.VarintType {
			value, _ = protowire.ConsumeVarint(message[n:])
		}
		message = message[n+size:]
	}
	return value
}

// readAnnotation reads an entry of a map.
func readAnnotation(entry []byte) (a annotation) {
	fields(entry, func(field protowire.Number, value []byte) {
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
	return appendAnnotations(appendBytes(appendBytes(dst, 1, w.key), 2, []byte(w.keyID)), 3, w.annotations)
}

func readWrapped(text []byte) (w wrapped, ok bool) {
	ok = fields(text, func(field protowire.Number, value []byte) {
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
