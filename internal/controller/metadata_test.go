package controller

import (
	"reflect"
	"testing"
)

func TestReadMetadata(t *testing.T) {
	for body, want := range map[string]metadata{
		`{"kind":"Pod","metadata":{"name":"a","uid":"u"},"spec":{"uid":"other"}}`: {uid: "u"},
		`{"metadata":{"uid":"u","deletionTimestamp":"2020-01-01T00:00:00Z","finalizers":["a/b","orphan"]}}`: {
			uid: "u", deleting: true, orphan: true},
		`{"metadata":{"deletionTimestamp":null,"finalizers":["foregroundDeletion"]}}`: {foreground: true},
		`{"metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"a\"b","uid":"x","controller":true,"blockOwnerDeletion":true},{"apiVersion":"v1","kind":"Node","name":"n","uid":"y"}]}}`: {
			owners: []ownerReference{{Kind{"apps/v1", "ReplicaSet"}, `a"b`, "x", true}, {Kind{"v1", "Node"}, "n", "y", false}}},
		`{}`: {},
		``:   {},
	} {
		if got := readMetadata([]byte(body)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: read %+v, want %+v", body, got, want)
		}
	}
}

func TestParseUID(t *testing.T) {
	texts := []string{"6d2d2d0e-1a25-4d0a-8a35-8b2d6a7f7e11", "6D2D2D0E-1A25-4D0A-8A35-8B2D6A7F7E11", "6d2d2d0e-1a25-4d0a-8a35-8b2d6a7f7e12",
		"6d2d2d0e-1a25-4d0a-8a35-8b2d6a7f7e1x", "6d2d2d0e1a254d0a8a358b2d6a7f7e11", "x", ""}
	seen := map[uid]string{}
	for _, text := range texts {
		u := parseUID([]byte(text))
		if other, ok := seen[u]; ok {
			t.Errorf("%q and %q are the same", text, other)
		}
		seen[u] = text
	}
	if u := parseUID([]byte(texts[0])); u[0] != 0x6d || u[15] != 0x11 {
		t.Errorf("a UUID is kept as %x", u)
	}
}

func FuzzReadMetadata(f *testing.F) {
	f.Add([]byte(`{"metadata":{"uid":"u","finalizers":["orphan"],"ownerReferences":[{"uid":"x"}]}}`))
	f.Add([]byte(`{"metadata":{"ownerReferences":[{]}`))
	f.Fuzz(func(_ *testing.T, body []byte) {
		m := readMetadata(body)
		parseUID([]byte(m.uid))
	})
}
