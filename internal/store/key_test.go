package store

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

func objectPrefix(key string) []byte { return append([]byte{objectSpace}, key+"\x00"...) }

func TestComparer(t *testing.T) {
	var prefixes [][]byte
	for _, key := range []string{"\x01", "a", "a\x01", "ab", "b", "pods/web", "pods/web-0", "\xff", "\xff\xff"} {
		prefixes = append(prefixes, objectPrefix(key))
	}
	slices.SortFunc(prefixes, bytes.Compare)
	var suffixes [][]byte
	for _, revision := range []uint64{1 << 63, 300, 256, 255, 2, 1} {
		b := appendVersion(nil, objectSpace, "k", revision)[3:]
		suffixes = append(suffixes, b, append(bytes.Clone(b), tombstoneMark))
	}
	if err := pebble.CheckComparer(comparer(), prefixes, suffixes); err != nil {
		t.Fatal(err)
	}
}

// A prefix's successor must lie beyond every version of the prefix; otherwise an iterator
// that skips to it goes in circles.
func TestNextPrefixIsBeyondAllVersions(t *testing.T) {
	c := comparer()
	for _, key := range []string{"a", "ab", "\xff", "core/pods/default/web-0"} {
		next := c.ImmediateSuccessor(nil, objectPrefix(key))
		for _, revision := range []uint64{1, 77, 1 << 40, ^uint64(0)} {
			for _, version := range [][]byte{appendVersion(nil, objectSpace, key, revision), appendTombstone(nil, objectSpace, key, revision)} {
				if c.Compare(version, next) >= 0 {
					t.Errorf("%q at %d is not before the next prefix %q", key, revision, next)
				}
			}
		}
		for _, longer := range []string{key + "\x01", key + "-", key + "\xff"} {
			if c.Compare(next, objectPrefix(longer)) > 0 {
				t.Errorf("%q is skipped by the step from %q", longer, key)
			}
		}
	}
}

func TestVersionsSortNewestFirstAndTogether(t *testing.T) {
	want := [][]byte{
		appendVersion(nil, objectSpace, "a", 9),
		appendTombstone(nil, objectSpace, "a", 7),
		appendVersion(nil, objectSpace, "a", 1),
		appendVersion(nil, objectSpace, "a\x01", 3),
		appendVersion(nil, objectSpace, "a-b", 1000),
		appendVersion(nil, objectSpace, "ab", 2),
		appendVersion(nil, objectSpace, "b", 1<<60),
	}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, comparer().Compare)
	for i := range want {
		if !bytes.Equal(got[i], want[i]) {
			t.Errorf("place %d: %q, expected %q", i, got[i], want[i])
		}
	}
}

func TestScanBounds(t *testing.T) {
	keys := []string{"a", "a/b", "a/b\x01", "a/b-c", "a/bc", "a/c", "a0", "b", "\xff", "\xff\xffz"}
	for _, prefix := range append([]string{"", "a/", "a/b\x00"}, keys...) {
		for _, from := range append([]string{"", "a/b\x00", "a/b\x00z", "zz", "a/"}, keys...) {
			lower, upper, ok := scanBounds(objectSpace, prefix, from)
			for _, key := range keys {
				version := appendVersion(nil, objectSpace, key, 5)
				got := ok && bytes.Compare(version, lower) >= 0 && bytes.Compare(version, upper) < 0
				want := strings.HasPrefix(key, prefix) && key >= from
				if got != want {
					t.Errorf("prefix %q from %q: %q inside is %v, expected %v", prefix, from, key, got, want)
				}
			}
			if ok && bytes.Compare(lower, upper) >= 0 {
				t.Errorf("prefix %q from %q: the bounds %q %q are reversed", prefix, from, lower, upper)
			}
		}
	}
}

func TestNumbersSortAsBytes(t *testing.T) {
	var last []byte
	for _, n := range []uint64{0, 1, 9, 10, 15, 16, 255, 256, 1 << 32, 1 << 63, ^uint64(0)} {
		b := appendLog(nil, n)
		if back, err := parseNumber(logSpace, b); back != n || err != nil {
			t.Errorf("%d becomes %q and then %d, %v", n, b, back, err)
		}
		if bytes.Compare(last, b) >= 0 {
			t.Errorf("%q is not before %q", last, b)
		}
		last = b
	}
}

func FuzzParseNumber(f *testing.F) {
	f.Add(appendLog(nil, 77))
	f.Add([]byte("l000000000000000G"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if n, err := parseNumber(logSpace, b); err == nil && !bytes.Equal(appendLog(nil, n), b) {
			t.Fatalf("%q decodes to %d", b, n)
		}
	})
}

func TestCheckKey(t *testing.T) {
	for key, ok := range map[string]bool{"": false, "a\x00b": false, "\x00": false, "a": true, "core/pods/ns/n": true, "\xff": true} {
		if err := CheckKey(key); (err == nil) != ok {
			t.Errorf("CheckKey(%q) = %v", key, err)
		}
	}
}

func FuzzParseVersion(f *testing.F) {
	f.Add(appendVersion(nil, objectSpace, "core/pods/default/web", 77))
	f.Add(appendTombstone(nil, objectSpace, "a", 1<<40))
	f.Add(appendVersion(nil, headerSpace, "a", 5))
	f.Add(appendVersion(nil, objectSpace, "\xff\x01", ^uint64(0)))
	f.Add(append(appendTombstone(nil, objectSpace, "a", 1), 't'))
	f.Add([]byte("o\x00"))
	f.Add([]byte("ok\x00\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := parseVersion(b)
		if err != nil {
			return
		}
		if err := CheckKey(string(v.key)); err != nil {
			t.Fatalf("%q: %v", b, err)
		}
		again := appendVersion(nil, b[0], string(v.key), v.revision)
		if v.tombstone {
			again = appendTombstone(nil, b[0], string(v.key), v.revision)
		}
		if !bytes.Equal(again, b) {
			t.Fatalf("%q decodes to %+v, which encodes to %q", b, v, again)
		}
		if n := split(b); n != len(v.key)+2 {
			t.Fatalf("%q splits at %d", b, n)
		}
	})
}

// FuzzKeyOrder checks that the bytes of encoded keys sort as the store promises: keys
// ascending, revisions descending.
func FuzzKeyOrder(f *testing.F) {
	f.Add("a", uint64(1), "a\x01", uint64(2))
	f.Add("a", uint64(5), "a", uint64(4))
	f.Fuzz(func(t *testing.T, a string, ar uint64, b string, br uint64) {
		if CheckKey(a) != nil || CheckKey(b) != nil || ar == 0 || br == 0 {
			return
		}
		want := strings.Compare(a, b)
		if want == 0 {
			want = bytes.Compare(appendLog(nil, br), appendLog(nil, ar))
		}
		if got := comparer().Compare(appendVersion(nil, objectSpace, a, ar), appendVersion(nil, objectSpace, b, br)); got != want {
			t.Fatalf("%q@%d against %q@%d: %d, expected %d", a, ar, b, br, got, want)
		}
	})
}

// FuzzScanBounds checks that a range holds exactly the keys of its prefix.
func FuzzScanBounds(f *testing.F) {
	f.Add("core/pods/", "core/pods/default/web", "core/pods/default/web-0", uint64(7))
	f.Add("", "a\x00", "a\x01", uint64(1))
	f.Add("\xff", "", "\xff\xff", uint64(1<<63))
	f.Add("a/", "a/b\x00z", "a/b", uint64(3))
	f.Add("a", "b", "a", uint64(3))
	f.Fuzz(func(t *testing.T, prefix, from, key string, revision uint64) {
		if CheckKey(key) != nil || revision == 0 {
			return
		}
		for _, space := range []byte{headerSpace, objectSpace} {
			lower, upper, ok := scanBounds(space, prefix, from)
			want := strings.HasPrefix(key, prefix) && key >= from
			for _, version := range [][]byte{appendVersion(nil, space, key, revision), appendTombstone(nil, space, key, revision)} {
				if got := ok && bytes.Compare(version, lower) >= 0 && bytes.Compare(version, upper) < 0; got != want {
					t.Fatalf("prefix %q from %q: %q inside is %v, expected %v", prefix, from, key, got, want)
				}
			}
		}
	})
}

// FuzzForeignKeys plants a foreign key and value in a store: every read answers or
// reports the damage, and none ends the process.
func FuzzForeignKeys(f *testing.F) {
	record := appendRecord(nil, OpUpdate, 1, "a")
	value, _ := encodeValue(Value{Meta: []byte("m"), Body: []byte("{}"), RevisionAt: -1}, 1)
	f.Add(appendVersion(nil, objectSpace, "a", 9), value)
	f.Add(appendVersion(nil, headerSpace, "a", 2), []byte("x"))
	f.Add(appendTombstone(nil, objectSpace, "b", 3), []byte{9})
	f.Add(appendLog(nil, 3), record)
	f.Add(appendLog(nil, 2), []byte{})
	f.Add(appendLog(nil, 1<<63), record)
	f.Add([]byte("oa"), value)
	f.Add([]byte("o\x00"), value)
	f.Add([]byte("l1"), record)
	f.Add([]byte("s1"), record)
	f.Add(metaKey(metaOldest), []byte{0, 0, 0, 0, 0, 0, 0, 2})
	f.Add(metaKey(metaSwept), []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Add(metaKey(metaFormat), []byte("capstan-store-2"))
	f.Fuzz(func(t *testing.T, key, stored []byte) {
		if len(key) == 0 || len(key)+len(stored) > 1<<16 {
			return
		}
		ctx, fs := context.Background(), vfs.NewMem()
		e, err := Open(Config{Dir: "data", FS: fs})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 4 {
			put(t, e, []string{"a", "b"}[i%2], object(100))
		}
		if err := errors.Join(e.db.Set(key, stored, pebble.Sync), e.Close()); err != nil {
			t.Fatal(err)
		}
		if e, err = Open(Config{Dir: "data", FS: fs}); err != nil {
			return
		}
		look := func(e *Engine) {
			_ = e.Check(ctx, func(string) {})
			if r, err := e.At(ctx, 0); err == nil {
				_ = r.Scan(ctx, "", "", func(*Entry) bool { return true })
				_ = r.ScanMeta(ctx, "", "", func(*Entry) bool { return true })
				_, _ = r.Count(ctx, "", "")
				_, _ = r.Get("a")
				_ = r.Close()
			}
			_, _ = e.Changes(ctx, "", e.Oldest(), func(*Change) bool { return true })
		}
		look(e)
		// A far revision makes the next one far too; trimming reads only the log.
		_, _ = e.Update(ctx, "c", func(*Entry) (Write, error) { return Write{Op: OpCreate, Value: object(100)}, nil })
		_ = e.Trim(ctx, e.Current())
		look(e)
		_ = e.Close()
	})
}
