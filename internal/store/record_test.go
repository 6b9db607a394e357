package store

import (
	"bytes"
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

func FuzzDecodeValue(f *testing.F) {
	stored, _ := encodeValue(Value{Meta: []byte("a=b"), Body: []byte("{}"), RevisionAt: -1}, 1)
	f.Add(stored)
	f.Add([]byte{})
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
	f.Add([]byte{2, 0x80})
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
