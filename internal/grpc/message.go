package grpc

import "google.golang.org/protobuf/encoding/protowire"

// Messages that have texts, bytes, numbers and maps of those are written and read field by field.

// AppendBytes appends a field of bytes to a message, unless it is empty.
func AppendBytes(dst []byte, field protowire.Number, value []byte) []byte {
	if len(value) == 0 {
		return dst
	}
	return protowire.AppendBytes(protowire.AppendTag(dst, field, protowire.BytesType), value)
}

// Fields calls visit with each field of bytes in a message, and reports whether the
// message is whole.
func Fields(message []byte, visit func(field protowire.Number, value []byte)) bool {
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

// Number is the last value of a field of a number in a message that is whole; 0 for none.
func Number(message []byte, of protowire.Number) (value uint64) {
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
