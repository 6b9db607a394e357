package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2"
)

// First bytes of the keys in the tree.
const (
	headerSpace = 'h' // 'h' key 0x00 ^revision ['t'] -> Meta
	logSpace    = 'l' // 'l' revision -> log record
	metaSpace   = 'm' // 'm' name -> setting
	objectSpace = 'o' // 'o' key 0x00 ^revision ['t'] -> value
	sampleSpace = 's' // 's' unix nanoseconds -> revision
)

// tombstoneMark ends the key of a version that a deletion wrote. It is in the
// key so that scans and counts see deletions without reading values.
const tombstoneMark = 't'

const revisionBytes = 8

// Names in the meta space.
const (
	metaFormat  = "format"  // formatVersion, written with the store
	metaCluster = "cluster" // the store's identity, written with the store
	metaOldest  = "oldest"  // revision up to which history is trimmed
	metaSwept   = "swept"   // revision up to which sweep has deleted
	metaGap     = "gap"     // of a replica: revision of the last change that replaces others
	metaSource  = "source"  // of a replica, written when its first state is complete
)

// CheckKey refuses keys that the layout cannot hold.
func CheckKey(key string) error {
	if key == "" {
		return fmt.Errorf("store: the key is empty; every object needs a key")
	}
	if i := strings.IndexByte(key, 0); i >= 0 {
		return fmt.Errorf("store: the key %q has a zero byte at %d; it would end the key, remove it", key, i)
	}
	return nil
}

// appendVersion appends the tree's key of an object's version. It sorts before all older
// versions of the object and before the tombstone of the same revision, whose key only is
// longer: a seek to it finds that too.
func appendVersion(dst []byte, space byte, key string, revision uint64) []byte {
	dst = append(dst, space)
	dst = append(dst, key...)
	dst = append(dst, 0)
	return binary.BigEndian.AppendUint64(dst, ^revision)
}

// batchBytes is an upper bound for the batch of a write: three keys, the header
// twice, and the framing of Pebble and of records.
func batchBytes(p *pending) int {
	size := 192 + 3*len(p.change.Entry.Key)
	if v := &p.change.Entry.Value; !p.short {
		size += 2*len(v.Meta) + len(v.Body)
	}
	return size
}

func appendTombstone(dst []byte, space byte, key string, revision uint64) []byte {
	return append(appendVersion(dst, space, key, revision), tombstoneMark)
}

// appendChange appends the key of the version that a change wrote.
func appendChange(dst []byte, space byte, key string, revision uint64, op Op) []byte {
	if op == OpDelete {
		return appendTombstone(dst, space, key, revision)
	}
	return appendVersion(dst, space, key, revision)
}

// version is a decoded key of the header or the object space.
type version struct {
	key       []byte // points into the encoded key
	revision  uint64
	tombstone bool
}

// parseVersion decodes a key of the header or the object space.
func parseVersion(b []byte) (version, error) {
	if len(b) == 0 || b[0] != objectSpace && b[0] != headerSpace {
		return version{}, fmt.Errorf("store: %q is not an object's key", b)
	}
	i := bytes.IndexByte(b, 0)
	if i < 2 {
		return version{}, fmt.Errorf("store: the object's key %q has no name or no end", b)
	}
	v, rest := version{key: b[1:i]}, b[i+1:]
	switch {
	case len(rest) == revisionBytes:
	case len(rest) == revisionBytes+1 && rest[revisionBytes] == tombstoneMark:
		v.tombstone = true
	default:
		return version{}, fmt.Errorf("store: the object's key %q has no revision", b)
	}
	if v.revision = ^binary.BigEndian.Uint64(rest); v.revision == 0 {
		return version{}, fmt.Errorf("store: the object's key %q has revision 0", b)
	}
	return v, nil
}

// scanBounds returns the part of a space that holds the keys with a prefix at or
// after from; ok is false when there can be none.
func scanBounds(space byte, prefix, from string) (lower, upper []byte, ok bool) {
	if strings.IndexByte(prefix, 0) >= 0 {
		return nil, nil, false // no key has a zero byte
	}
	start := max(prefix, from)
	if i := strings.IndexByte(start, 0); i >= 0 {
		// A caller that continues after k asks for k and a zero byte. In the tree that
		// would find versions of k; the next key that can exist is k 0x01.
		start = start[:i] + "\x01"
	}
	if !strings.HasPrefix(start, prefix) && start > prefix {
		return nil, nil, false // from lies beyond the prefix
	}
	lower = append([]byte{space}, start...)
	return lower, after(append([]byte{space}, prefix...)), true
}

// after changes a prefix into the first byte string that sorts after everything with that
// prefix. The prefix must have a byte below 0xff, as the letter of a space is.
func after(prefix []byte) []byte {
	for i := len(prefix) - 1; i > 0 && prefix[i] == 0xff; i-- {
		prefix = prefix[:i]
	}
	prefix[len(prefix)-1]++
	return prefix
}

func appendLog(dst []byte, revision uint64) []byte {
	return appendNumber(append(dst, logSpace), revision)
}

// appendLogOf appends the key of the log record of a change. Of several changes at one revision
// the first has place 0 and the key of appendLog; the others follow it in their order.
func appendLogOf(dst []byte, revision uint64, place int) []byte {
	dst = appendLog(dst, revision)
	if place > 0 {
		dst = append(dst, furtherSign, hexDigits[place>>8&15], hexDigits[place>>4&15], hexDigits[place&15])
	}
	return dst
}

const (
	furtherSign = '+'     // stands before the place of a further change at a revision
	mostPlaces  = 1 << 12 // of changes at one revision
	hexDigits   = "0123456789abcdef"
)

// parseLog decodes the revision in the key of a log record.
func parseLog(b []byte) (uint64, error) {
	if len(b) == 1+16+4 && b[1+16] == furtherSign {
		b = b[:1+16]
	}
	return parseNumber(logSpace, b)
}

func appendSample(dst []byte, nanoseconds int64) []byte {
	return appendNumber(append(dst, sampleSpace), uint64(nanoseconds))
}

// appendNumber appends 16 hexadecimal digits: they sort like the numbers and, unlike
// eight raw bytes, contain no zero byte, which would end a prefix.
func appendNumber(dst []byte, n uint64) []byte {
	for shift := 60; shift >= 0; shift -= 4 {
		dst = append(dst, hexDigits[n>>shift&15])
	}
	return dst
}

// parseNumber decodes the number in a key of the log or the sample space.
func parseNumber(space byte, b []byte) (uint64, error) {
	if len(b) != 1+16 || b[0] != space {
		return 0, fmt.Errorf("store: %q is not a key of the space %q", b, space)
	}
	var n uint64
	for _, c := range b[1:] {
		switch {
		case '0' <= c && c <= '9':
			n = n<<4 | uint64(c-'0')
		case 'a' <= c && c <= 'f':
			n = n<<4 | uint64(c-'a'+10)
		default:
			return 0, fmt.Errorf("store: the key %q has no number", b)
		}
	}
	return n, nil
}

func metaKey(name string) []byte { return append([]byte{metaSpace}, name...) }

// comparer orders the tree's keys as byte strings. It tells Pebble which part of a key is
// the object's, so that Bloom filters hold objects rather than versions and NextPrefix
// goes to the next object.
//
// Pebble requires that the order of whole keys agrees with comparing prefixes first, then
// suffixes. It does: the prefix of an object's key ends with its only zero byte, so two
// different prefixes differ at some byte, and that byte decides both orders. Keys of
// other spaces have no zero byte and are all prefix.
func comparer() *pebble.Comparer {
	c := *pebble.DefaultComparer
	c.Name = "capstan-versions-1"
	c.Split = split
	c.ImmediateSuccessor = appendNextPrefix
	return &c
}

func split(b []byte) int {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return i + 1
	}
	return len(b)
}

// appendNextPrefix appends the smallest possible prefix after a prefix. For an object
// that is its name and 0x01: with a zero byte instead, as for other keys, it would sort
// before the object's own versions.
func appendNextPrefix(dst, prefix []byte) []byte {
	dst = append(dst, prefix...)
	if n := len(dst); len(prefix) > 0 && dst[n-1] == 0 {
		dst[n-1] = 1
		return dst
	}
	return append(dst, 0)
}

// keyArena makes strings of keys, many to an allocation. A string keeps its neighbours, a
// few kilobytes, in memory as long as it is used.
type keyArena struct{ b strings.Builder }

const arenaBytes = 4 << 10

func (a *keyArena) add(key []byte) string {
	if a.b.Cap()-a.b.Len() < len(key) {
		a.b = strings.Builder{}
		a.b.Grow(max(arenaBytes, len(key)))
	}
	start := a.b.Len()
	a.b.Write(key)
	return a.b.String()[start:]
}
