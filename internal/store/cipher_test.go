package store

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Mask is a Cipher for tests: it inverts the bits of the values of some keys.
type Mask struct {
	All bool // else keys of even length
	Old bool // masked values are stale
	// Later makes all values stale from some time on; nil for never.
	Later *atomic.Bool
}

func (m Mask) later() bool { return m.Later != nil && m.Later.Load() }

func (m Mask) masks(key string) bool { return m.All || len(key)%2 == 0 }

// Sealer implements Cipher.
func (m Mask) Sealer(key string) (Seal, error) {
	if strings.HasSuffix(key, "refused") {
		return nil, errors.New("on purpose")
	}
	if !m.masks(key) {
		return nil, nil
	}
	return func(dst, bound, plain []byte) []byte {
		dst = append(append(dst, byte(len(bound))), bound...)
		for _, b := range plain {
			dst = append(dst, ^b)
		}
		return dst
	}, nil
}

// Open implements Cipher.
func (m Mask) Open(_ string, bound, sealed []byte) ([]byte, error) {
	n := int(sealed[0])
	if !bytes.Equal(sealed[1:1+n], bound) {
		return nil, errors.New("the record was moved")
	}
	plain := bytes.Clone(sealed[1+n:])
	for i := range plain {
		plain[i] ^= 0xff
	}
	return plain, nil
}

// Fresh implements Cipher.
func (m Mask) Fresh(key string, sealed []byte) (bool, error) {
	return m.masks(key) == (sealed != nil) && !m.Old && !m.later(), nil
}

// Generation implements Cipher.
func (m Mask) Generation() uint64 {
	if m.later() {
		return 1
	}
	return 0
}

// A value is encrypted on the disk with its header, bound to its key and revision, and
// plain for readers and subscribers. Without the cipher it is an error, for which others
// do not pay.
func TestCipher(t *testing.T) {
	ctx, fs := context.Background(), vfs.NewMem()
	open := func(c Cipher) *Engine {
		e, err := Open(Config{Dir: "data", FS: fs, Cipher: c})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	e := open(Mask{})
	seen := ""
	_, stop := e.Subscribe(Streams, func(b Batch) { seen += string(b.Changes[0].Entry.Body) })
	for _, key := range []string{"a/bc", "a/bd", "a/odd"} {
		put(t, e, key, Value{Meta: []byte("head of " + key), Body: []byte("body of " + key), RevisionAt: -1})
	}
	stop()
	if seen != "body of a/bcbody of a/bdbody of a/odd" {
		t.Errorf("subscribers see %q", seen)
	}
	if _, err := e.Update(ctx, "refused", func(*Entry) (Write, error) { return Write{Op: OpCreate}, nil }); err == nil || !strings.Contains(err.Error(), `cannot encrypt "refused": on purpose`) {
		t.Error(err)
	}
	stored, closer, err := e.db.Get(appendVersion(nil, objectSpace, "a/bc", 1))
	if err != nil || bytes.Contains(stored, []byte("of a")) {
		t.Fatalf("%q, %v", stored, err)
	}
	moved := bytes.Clone(stored)
	_ = closer.Close()
	if err := e.db.Set(appendVersion(nil, objectSpace, "a/bd", 2), moved, pebble.Sync); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}

	e = open(Mask{})
	if got, err := e.Get(ctx, "a/bc"); err != nil || string(got.Body) != "body of a/bc" || string(got.Meta) != "head of a/bc" || got.Rewritten {
		t.Errorf("%q, %v", got.Body, err)
	}
	if _, err := e.Get(ctx, "a/bd"); err == nil || !strings.Contains(err.Error(), `cannot read "a/bd" at 2: the record was moved`) {
		t.Error(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}

	e = open(nil)
	if _, err := e.Get(ctx, "a/bc"); !errors.Is(err, errNoCipher) {
		t.Error(err)
	}
	if got, err := e.Get(ctx, "a/odd"); err != nil || string(got.Body) != "body of a/odd" {
		t.Error(err)
	}
	if err := e.Check(ctx, func(problem string) { t.Error(problem) }); err != nil {
		t.Error(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}

	later := new(atomic.Bool)
	e = open(Mask{All: true, Later: later})
	defer func() { _ = e.Close() }()
	for range 2 { // a stale value is not cached, so that it stays known as one
		if got, err := e.Get(ctx, "a/odd"); err != nil || !got.Rewritten {
			t.Errorf("a plain value is not due for a rewrite: %v", err)
		}
	}
	put(t, e, "a/odd", Value{Body: []byte("again"), RevisionAt: -1})
	if got, err := e.Get(ctx, "a/odd"); err != nil || got.Rewritten {
		t.Errorf("a written value is due for a rewrite: %v", err)
	}
	later.Store(true)
	if got, err := e.Get(ctx, "a/odd"); err != nil || !got.Rewritten {
		t.Errorf("a cached value is as fresh as before: %v", err)
	}
}
