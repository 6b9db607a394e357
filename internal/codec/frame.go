package codec

import (
	"encoding/binary"

	"github.com/capstan-dev/capstan/internal/document"
)

// AppendFrame appends a watch event as a line of JSON; object is JSON.
func AppendFrame(dst []byte, event string, object []byte) []byte {
	dst = append(dst, `{"type":`...)
	dst = document.AppendQuoted(dst, event)
	dst = append(dst, `,"object":`...)
	dst = append(dst, object...)
	return append(dst, "}\n"...)
}

// FrameLength is the number of bytes of a binary frame's length.
const FrameLength = 4

// AppendBinaryFrame appends a watch event in the binary form: the length of a
// WatchEvent message, four bytes with the highest first, and the message, which
// holds the object in its envelope. A frame of 4 GiB or more cannot be written;
// objects are far smaller.
func AppendBinaryFrame(dst []byte, event, apiVersion, kind string, message []byte) []byte {
	start := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst = AppendBytesField(dst, 1, event)
	dst = append(dst, 2<<3|wireBytes)
	dst, object := openLength(dst)
	dst = append(dst, 1<<3|wireBytes)
	dst, raw := openLength(dst)
	dst = AppendEnvelope(dst, apiVersion, kind, message)
	dst = closeLength(closeLength(dst, raw), object)
	binary.BigEndian.PutUint32(dst[start:], uint32(len(dst)-start-4))
	return dst
}
