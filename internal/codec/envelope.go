package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// magic begins every binary object.
const magic = "k8s\x00"

var (
	errMagic   = errors.New("the body does not begin with the bytes 6b 38 73 00; send the message in its envelope")
	errNothing = errors.New("the body has no message after the bytes 6b 38 73 00")
)

// EnvelopeTail follows the object in an envelope: contentEncoding and contentType, both
// empty.
func EnvelopeTail() []byte { return []byte{3<<3 | wireBytes, 0, 4<<3 | wireBytes, 0} }

// EnvelopeHead is the beginning of the envelope of an object whose message has
// size bytes. The message and EnvelopeTail follow.
func EnvelopeHead(apiVersion, kind string, size int) []byte {
	return appendEnvelopeHead(make([]byte, 0, envelopeRoom(apiVersion, kind)), apiVersion, kind, size)
}

// envelopeRoom bounds the bytes that appendEnvelopeHead appends.
func envelopeRoom(apiVersion, kind string) int { return len(apiVersion) + len(kind) + 24 }

func appendEnvelopeHead(dst []byte, apiVersion, kind string, size int) []byte {
	dst = append(dst, magic...)
	dst = append(dst, 1<<3|wireBytes)
	var mark int
	dst, mark = openLength(dst)
	dst = AppendBytesField(dst, 1, apiVersion)
	dst = AppendBytesField(dst, 2, kind)
	dst = closeLength(dst, mark)
	dst = append(dst, 2<<3|wireBytes)
	return binary.AppendUvarint(dst, uint64(size))
}

// AppendEnvelope appends a message in its envelope.
func AppendEnvelope(dst []byte, apiVersion, kind string, message []byte) []byte {
	dst = appendEnvelopeHead(dst, apiVersion, kind, len(message))
	dst = append(dst, message...)
	return append(dst, EnvelopeTail()...)
}

// Sealed makes a message in its envelope, in the memory of buf from its beginning:
// message appends the message to its argument. Sealed returns the object, and buf as long
// as it has grown, to be reused when the object is not needed any more. The message is
// written once: its head, which depends on its length, is put before it.
func Sealed(buf []byte, apiVersion, kind string, message func(dst []byte) ([]byte, error)) (object, grown []byte, err error) {
	room := envelopeRoom(apiVersion, kind)
	buf = slices.Grow(buf[:0], room)[:room]
	if buf, err = message(buf); err != nil {
		return nil, buf, err
	}
	size := len(buf) - room
	buf = append(buf, EnvelopeTail()...)
	end := len(buf)
	buf = appendEnvelopeHead(buf, apiVersion, kind, size)
	head := buf[end:]
	start := room - len(head)
	copy(buf[start:], head)
	return buf[start:end], buf, nil
}

// AppendBytesField appends a length-delimited field of a message.
func AppendBytesField[T string | []byte](dst []byte, number uint32, s T) []byte {
	dst = appendTag(dst, number, wireBytes)
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

// Message is the message in an object that Sealed or AppendEnvelope made.
func Message(object []byte) []byte {
	for i := len(magic); i < len(object); {
		f, next, err := nextField(object, i)
		if err != nil {
			return nil
		}
		if i = next; f.number == 2 {
			return object[f.start:f.end]
		}
	}
	return nil
}

// OpenEnvelope takes a binary object apart. message shares memory with data. An error
// describes the mistake in the data.
func OpenEnvelope(data []byte) (apiVersion, kind string, message []byte, err error) {
	if len(data) < len(magic) || string(data[:len(magic)]) != magic {
		return "", "", nil, errMagic
	}
	if len(data) == len(magic) {
		return "", "", nil, errNothing
	}
	err = EachBytesField(data[len(magic):], func(number uint32, v []byte) error {
		switch number {
		case 1:
			return EachBytesField(v, func(number uint32, v []byte) error {
				switch number {
				case 1:
					apiVersion = string(v)
				case 2:
					kind = string(v)
				}
				return nil
			})
		case 2:
			message = v
		case 3, 4:
			if len(v) > 0 {
				return fmt.Errorf("the envelope says that its contents are encoded as %q; leave contentEncoding and contentType empty", v)
			}
		}
		return nil
	})
	return apiVersion, kind, message, err
}

// EachBytesField calls visit for the length-delimited fields of a message.
func EachBytesField(data []byte, visit func(number uint32, contents []byte) error) error {
	for i := 0; i < len(data); {
		f, next, err := nextField(data, i)
		if err != nil {
			return err
		}
		i = next
		if f.wire != wireBytes {
			continue
		}
		if err := visit(f.number, data[f.start:f.end]); err != nil {
			return err
		}
	}
	return nil
}
