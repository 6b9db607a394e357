package codec

import (
	"encoding/binary"
	"strconv"

	"github.com/capstan-dev/capstan/internal/document"
)

// ListMeta is the metadata of a list.
type ListMeta struct {
	ResourceVersion string
	Continue        string // token of the next page; "" on the last one
	Whole           bool   // the token is written although there is none, as for custom resources
	Remaining       *int64 // objects after this page; nil for unknown or none
}

// AppendJSON appends the metadata as canonical JSON.
func (m ListMeta) AppendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	dst = appendMember(dst, "resourceVersion", m.ResourceVersion)
	if dst = appendMember(dst, "continue", m.Continue); m.Whole && m.Continue == "" {
		dst = append(appendComma(dst), `"continue":""`...)
	}
	if m.Remaining != nil {
		dst = append(appendComma(dst), `"remainingItemCount":`...)
		dst = strconv.AppendInt(dst, *m.Remaining, 10)
	}
	return append(dst, '}')
}

// AppendListHead appends the beginning of a JSON list. The items, separated by
// commas, and "]}" follow.
func AppendListHead(dst []byte, apiVersion, kind string, m ListMeta) []byte {
	dst = append(dst, `{"kind":`...)
	dst = document.AppendQuoted(dst, kind)
	dst = append(dst, `,"apiVersion":`...)
	dst = document.AppendQuoted(dst, apiVersion)
	dst = append(dst, `,"metadata":`...)
	dst = m.AppendJSON(dst)
	return append(dst, `,"items":[`...)
}

// ItemPrefix is the beginning of every stored object of a kind. Items of a list of a
// built-in kind are written without it: '{' and the rest of the object.
func ItemPrefix(apiVersion, kind string) string {
	dst := append([]byte(`{"kind":`), document.AppendQuoted(nil, kind)...)
	dst = append(dst, `,"apiVersion":`...)
	dst = document.AppendQuoted(dst, apiVersion)
	return string(append(dst, ','))
}

// AppendBinaryListMeta appends the beginning of a list's message. Items follow,
// each appended by AppendBinaryItem.
func AppendBinaryListMeta(dst []byte, m ListMeta) []byte {
	dst = append(dst, 1<<3|wireBytes)
	dst, mark := openLength(dst)
	dst = AppendBytesField(dst, 1, "") // selfLink
	dst = AppendBytesField(dst, 2, m.ResourceVersion)
	dst = AppendBytesField(dst, 3, m.Continue)
	if m.Remaining != nil {
		dst = append(dst, 4<<3|wireVarint)
		dst = binary.AppendUvarint(dst, uint64(*m.Remaining))
	}
	return closeLength(dst, mark)
}

// AppendBinaryItem appends one item of a list's message; message appends the
// item's own.
func AppendBinaryItem(dst []byte, message func([]byte) ([]byte, error)) ([]byte, error) {
	mark := len(dst) + 1
	// Most messages are so long that two bytes hold their length: they need not be moved.
	dst, err := message(append(dst, 2<<3|wireBytes, 0, 0))
	if err != nil {
		return dst, err
	}
	if n := uint64(len(dst) - mark - 2); varintLen(n) == 2 {
		binary.PutUvarint(dst[mark:], n)
		return dst, nil
	}
	return closeLength(append(dst[:mark+1], dst[mark+2:]...), mark), nil
}

// BinaryItemSize is the number of bytes that AppendBinaryItem appends for a message.
func BinaryItemSize(message int) int { return 1 + varintLen(uint64(message)) + message }
