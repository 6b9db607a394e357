package store

import (
	"bytes"
	"encoding/binary"
	"testing"
)

func TestEncodeValueSplicesTheRevision(t *testing.T) {
	for _, c := range []struct {
		name       string
		meta, body string
		at         int
		want       string
	}{
		{"middle", "m", `{"v":""}`, 6, `{"v":"120"}`},
		{"start", "", `x`, 0, `120x`},
		{"end", "meta", `x`, 1, `x120`},
		{"none", "meta", `x`, -1, `x`},
		{"empty", "", ``, 0, `120`},
	} {
		t.Run(c.name, func(t *testing.T) {
			stored, v := encodeValue(Value{Meta: []byte(c.meta), Body: []byte(c.body), RevisionAt: c.at}, 120)
			back, err := decodeValue(stored)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range []Value{v, back} {
				if string(v.Meta) != c.meta || string(v.Body) != c.want || v.RevisionAt != -1 {
					t.Errorf("got %q %q %d, expected %q %q -1", v.Meta, v.Body, v.RevisionAt, c.meta, c.want)
				}
			}
		})
	}
}

func TestShortRecord(t *testing.T) {
	before := Entry{Revision: 99, Value: Value{Meta: []byte("a=b"), Body: []byte(`{"v":"99","w":"99"}`)}}
	for _, c := range []struct {
		name, meta, body string
		at               int
		short            bool
	}{
		{"the same", "a=b", `{"v":"","w":"99"}`, 6, true},
		{"another body", "a=b", `{"v":"","w":"98"}`, 6, false},
		{"another beginning", "a=b", `{"u":"","w":"99"}`, 6, false},
		{"longer", "a=b", `{"v":"","w":"999"}`, 6, false},
		{"another header", "a=c", `{"v":"","w":"99"}`, 6, false},
		{"another place", "a=b", `{"v":"","w":"99"}`, 5, false},
		{"another revision", "a=b", `{"v":"9","w":"9"}`, 15, false},
		{"no revision", "a=b", `{"v":"99","w":"99"}`, -1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			last := Value{Meta: []byte(c.meta), Body: []byte(c.body), RevisionAt: c.at}
			stored, want := encodeValue(last, 100)
			short := shortRecord(last, before)
			if (short != nil) != c.short {
				t.Fatalf("short %q", short)
			}
			if short != nil {
				stored = short
			}
			got, err := decodeLast(stored, 100, before)
			if err != nil || string(got.Meta) != string(want.Meta) || string(got.Body) != string(want.Body) || got.RevisionAt != -1 {
				t.Errorf("got %+v, %v, expected %+v", got, err, want)
			}
			if short == nil {
				return
			}
			if _, err := decodeValue(short); err == nil {
				t.Error("a short record is a value")
			}
			if _, err := decodeLast(short, 100, Entry{Revision: 9, Value: Value{Body: before.Body[:6]}}); err == nil {
				t.Error("a version before that is too short is accepted")
			}
		})
	}
}

func FuzzDecodeLast(f *testing.F) {
	f.Add([]byte{7}, []byte(`{"v":"99"}`))
	f.Add([]byte{10}, []byte(`{"v":"99"}`))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, []byte(`{}`))
	f.Add([]byte{0}, []byte{})
	f.Fuzz(func(t *testing.T, b, before []byte) {
		v, err := decodeLast(b, 100, Entry{Revision: 99, Value: Value{Body: before}})
		if err == nil && len(v.Body) > len(b)+len(before)+1 {
			t.Fatalf("%q after %q is %q", b, before, v.Body)
		}
	})
}

func FuzzDecodeValue(f *testing.F) {
	stored, _ := encodeValue(Value{Meta: []byte("a=b"), Body: []byte("{}"), RevisionAt: -1}, 1)
	f.Add(stored)
	long, _ := encodeValue(Value{Meta: bytes.Repeat([]byte("m"), 300), Body: []byte(`{"v":""}`), RevisionAt: 6}, 1<<40)
	f.Add(long)
	f.Add([]byte{})
	f.Add([]byte{0})
	f.Add([]byte{5, 'm'}) // a header longer than all
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := decodeValue(b)
		if err != nil {
			return
		}
		stored, same := encodeValue(v, 1)
		if !bytes.Equal(same.Meta, v.Meta) || !bytes.Equal(same.Body, v.Body) {
			t.Fatalf("%q decodes to %q %q, which becomes %q %q", b, v.Meta, v.Body, same.Meta, same.Body)
		}
		if !bytes.HasSuffix(b, stored[len(stored)-len(v.Meta)-len(v.Body):]) {
			t.Fatalf("%q became %q", b, stored)
		}
	})
}

func FuzzDecodeRecord(f *testing.F) {
	f.Add(appendRecord(nil, OpCreate, 0, "a"))
	f.Add(appendRecord(nil, OpUpdate, 1<<40, "core/pods/default/web"))
	f.Add(appendRecord(nil, OpDelete, 7, "b"))
	f.Add(appendRecord(nil, OpUpdate, 1<<63, "\xff\xff"))
	f.Add([]byte{2, 0x80})
	f.Add([]byte{1, 0})       // empty key
	f.Add([]byte{1, 5, 'a'})  // a creation after something
	f.Add([]byte{2, 0, 'a'})  // an update after nothing
	f.Add([]byte{4, 1, 'a'})  // unknown operation
	f.Add([]byte{2, 1, 0, 1}) // a key with a zero byte
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decodeRecord(b)
		if err != nil {
			return
		}
		again, err := decodeRecord(appendRecord(nil, r.op, r.prev, string(r.key)))
		if err != nil || again.op != r.op || again.prev != r.prev || !bytes.Equal(again.key, r.key) {
			t.Fatalf("%q decodes to %+v and then to %+v, %v", b, r, again, err)
		}
	})
}

func FuzzDecodeSample(f *testing.F) {
	value := func(revision uint64) []byte { return binary.BigEndian.AppendUint64(nil, revision) }
	f.Add(appendSample(nil, 1_700_000_000_000_000_000), value(77))
	f.Add(appendSample(nil, 0), value(0))
	f.Add([]byte("sffffffffffffffff"), value(1))
	f.Add([]byte("l0000000000000001"), value(1))
	f.Add(appendSample(nil, 5), []byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, key, stored []byte) {
		s, err := decodeSample(key, stored)
		if err != nil {
			return
		}
		if s.nanoseconds < 0 || !bytes.Equal(appendSample(nil, s.nanoseconds), key) || !bytes.Equal(value(s.revision), stored) {
			t.Fatalf("%q %q decodes to %+v", key, stored, s)
		}
	})
}

func FuzzDecodeRevision(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 1})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte("capstan-store-1"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := decodeRevision(b); err == nil && !bytes.Equal(binary.BigEndian.AppendUint64(nil, r), b) {
			t.Fatalf("%q decodes to %d", b, r)
		}
	})
}
