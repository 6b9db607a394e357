package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
)

// encodeValue returns the stored form of a value, uvarint(len(Meta)) Meta Body, and the
// value as readers will see it, which shares the bytes. It inserts the decimal digits of
// the revision into the body at RevisionAt.
func encodeValue(v Value, revision uint64) ([]byte, Value) {
	var digits [20]byte
	var text []byte
	at := len(v.Body)
	if v.RevisionAt >= 0 {
		text, at = strconv.AppendUint(digits[:0], revision, 10), v.RevisionAt
	}
	b := make([]byte, 0, binary.MaxVarintLen32+len(v.Meta)+len(v.Body)+len(text))
	b = binary.AppendUvarint(b, uint64(len(v.Meta)))
	meta := len(b)
	b = append(b, v.Meta...)
	body := len(b)
	b = append(b, v.Body[:at]...)
	b = append(b, text...)
	b = append(b, v.Body[at:]...)
	return b, Value{Meta: b[meta:body:body], Body: b[body:len(b):len(b)], RevisionAt: -1}
}

// decodeValue splits a stored value; the parts share b's bytes.
func decodeValue(b []byte) (Value, error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return Value{}, fmt.Errorf("store: a value of %d bytes has a damaged header", len(b))
	}
	end := size + int(n)
	return Value{Meta: b[size:end:end], Body: b[end:len(b):len(b)], RevisionAt: -1}, nil
}

// A deletion rarely changes more of an object than its revision. Then the version that it
// writes is a short record: uvarint(at+1) alone, where that many bytes of header would
// follow in a value. It stands for the version before, with the revision of the deletion
// at offset at of the body.

// shortRecord returns the short record of a deletion with a final state, or nil if that
// differs from the version before in more than its revision.
func shortRecord(last Value, before Entry) []byte {
	var digits [20]byte
	at, text := last.RevisionAt, strconv.AppendUint(digits[:0], before.Revision, 10)
	if at < 0 || len(before.Body) != len(last.Body)+len(text) {
		return nil
	}
	end := at + len(text)
	if !bytes.Equal(before.Body[at:end], text) || !bytes.Equal(before.Body[:at], last.Body[:at]) ||
		!bytes.Equal(before.Body[end:], last.Body[at:]) || !bytes.Equal(before.Meta, last.Meta) {
		return nil
	}
	return binary.AppendUvarint(nil, uint64(at)+1)
}

// decodeLast is decodeValue for the version that a deletion wrote, which may be a short
// record.
func decodeLast(b []byte, revision uint64, before Entry) (Value, error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || size < len(b) || n == 0 {
		return decodeValue(b)
	}
	at, digits := int(n-1), len(strconv.FormatUint(before.Revision, 10))
	if n > uint64(len(before.Body)) || at+digits > len(before.Body) {
		return Value{}, fmt.Errorf("store: the version before a deletion ends before byte %d", at)
	}
	_, last := encodeValue(Value{Meta: before.Meta, Body: slices.Concat(before.Body[:at], before.Body[at+digits:]), RevisionAt: at}, revision)
	return last, nil
}

// entryOf makes an entry of a stored value and shares its bytes.
func entryOf(key string, revision uint64, stored []byte) (Entry, error) {
	value, err := decodeValue(stored)
	return Entry{Key: key, Revision: revision, Value: value}, err
}

// logRecord describes the change at a revision.
type logRecord struct {
	op   Op
	prev uint64 // revision of the previous version; 0 for OpCreate
	key  []byte
}

// appendRecord appends op uvarint(prev) key.
func appendRecord(dst []byte, op Op, prev uint64, key string) []byte {
	dst = append(dst, byte(op))
	dst = binary.AppendUvarint(dst, prev)
	return append(dst, key...)
}

// decodeRecord reads a log record; its key shares b's bytes.
func decodeRecord(b []byte) (logRecord, error) {
	if len(b) == 0 {
		return logRecord{}, errors.New("store: an empty log record")
	}
	r := logRecord{op: Op(b[0])}
	if r.op < OpCreate || r.op > OpDelete {
		return logRecord{}, fmt.Errorf("store: a log record has the unknown operation %d", r.op)
	}
	prev, size := binary.Uvarint(b[1:])
	if size <= 0 {
		return logRecord{}, errors.New("store: a log record has a damaged revision")
	}
	r.prev, r.key = prev, b[1+size:]
	if (r.op == OpCreate) != (r.prev == 0) {
		return logRecord{}, fmt.Errorf("store: a log record has operation %d after revision %d", r.op, r.prev)
	}
	if err := CheckKey(string(r.key)); err != nil {
		return logRecord{}, err
	}
	return r, nil
}

// decodeRevision reads a revision kept as a value.
func decodeRevision(b []byte) (uint64, error) {
	if len(b) != revisionBytes {
		return 0, fmt.Errorf("store: a revision has %d bytes, expected %d", len(b), revisionBytes)
	}
	return binary.BigEndian.Uint64(b), nil
}
