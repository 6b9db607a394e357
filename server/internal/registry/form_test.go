package registry

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// TestPlaces compares keys of the store with keys of etcd.
func TestPlaces(t *testing.T) {
	form := New(everyKind(t))
	for _, c := range []struct{ key, place string }{
		{"core/nodes/n1", "/minions/n1"},
		{"core/services/default/web", "/services/specs/default/web"},
		{"core/endpoints/default/web", "/services/endpoints/default/web"},
		{"core/replicationcontrollers/default/web", "/controllers/default/web"},
		{"networking.k8s.io/ingresses/default/web", "/ingress/default/web"},
		{"networking.k8s.io/ingressclasses/web", "/ingressclasses/web"},
		{"rbac.authorization.k8s.io/roles/default/system:x", "/roles/default/system:x"},
		{"apiregistration.k8s.io/apiservices/v1.", "/apiregistration.k8s.io/apiservices/v1."},
		{"shop.example.com/widgets/default/w", "/shop.example.com/widgets/default/w"},
		{"gateway.networking.k8s.io/gateways/w", "/gateway.networking.k8s.io/gateways/w"},
		{"capstan/page-secret", "/capstan/page-secret"},
	} {
		if place := form.Place(c.key); place != c.place {
			t.Errorf("the place of %s is %s, want %s", c.key, place, c.place)
		}
		if key, ok := form.Key(c.place); !ok || key != c.key {
			t.Errorf("the key of %s is %s %t, want %s", c.place, key, ok, c.key)
		}
	}
	for key, want := range map[string]string{"core/pods/": "/pods/", "core/services/default/": "/services/specs/default/", "shop.example.com/widgets/": "/shop.example.com/widgets/"} {
		if place := form.Place(key); place != want {
			t.Errorf("keys with %s lie at %s, want %s", key, place, want)
		}
	}
	for _, place := range []string{"", "/", "pods/default/web", "/pods", "/pods/", "/pods/web", "/pods//web", "/pods/default/", "/pods/a/b/c",
		"/minions/a/b", "/nodes/n1", "/services/default/web", "/services/specs/web", "/ranges/pods", "/masterleases/192.0.2.1",
		"/shop.example.com/widgets", "/shop.example.com/widgets/a/b/c", "/shoes.example.com/cobblers/anna", "/capstan/a/b", "/core/pods/default/web"} {
		if key, ok := form.Key(place); ok {
			t.Errorf("the key of %q is %s", place, key)
		}
	}
}

// TestEveryKindHasAPlace checks that no two kinds share keys in etcd, and that the tables of
// exceptions name kinds that there are.
func TestEveryKindHasAPlace(t *testing.T) {
	form := New(everyKind(t))
	kinds := 0
	for kind := range form.rows.Snapshot().Types() {
		if kind.Stored == nil || kind.Stored.Definition != nil {
			continue
		}
		kinds++
		key := kind.Prefix + "name"
		if kind.Stored.Namespaced {
			key = kind.Prefix + "space/name"
		}
		if back, ok := form.Key(form.Place(key)); !ok || back != key {
			t.Errorf("%s lies at %s, which is the place of %q", key, form.Place(key), back)
		}
	}
	if kinds < 50 || kinds != len(form.kinds) || kinds != len(form.places) {
		t.Errorf("%d kinds have %d forms at %d places", kinds, len(form.kinds), len(form.places))
	}
	for _, prefixes := range [][]string{keysOf(oddPlaces), keysOf(oddVersions), keysOf(olderKinds())} {
		for _, prefix := range prefixes {
			if form.kinds[prefix] == nil {
				t.Errorf("%s is no kind", prefix)
			}
		}
	}
}

func keysOf[V any](m map[string]V) (keys []string) {
	for key := range m {
		keys = append(keys, key)
	}
	return keys
}

// object is the value of a recorded object.
func object(t testing.TB, form *Form, key string) (recorded, store.Value) {
	t.Helper()
	objects, _ := recordings(t)
	for _, r := range objects {
		if r.Key == key {
			v, err := form.Decode(key, r.Value)
			if err != nil {
				t.Fatal(err)
			}
			return r, v
		}
	}
	t.Fatalf("%s is not recorded", key)
	return recorded{}, store.Value{}
}

// TestOtherVersions reads objects that another release keeps in another version, or that
// kube-apiserver was configured to keep as JSON.
func TestOtherVersions(t *testing.T) {
	form := New(everyKind(t))
	for _, c := range []struct{ key, apiVersion string }{
		{"autoscaling/horizontalpodautoscalers/default/everything", "autoscaling/v2"},
		{"autoscaling/horizontalpodautoscalers/default/everything", "autoscaling/v2beta2"},
		{"autoscaling/horizontalpodautoscalers/default/web", "autoscaling/v1"},
		{"policy/poddisruptionbudgets/default/of-all", "policy/v1"},
		{"discovery.k8s.io/endpointslices/default/of-nodes", "discovery.k8s.io/v1"},
		{"flowcontrol.apiserver.k8s.io/flowschemas/builders", "flowcontrol.apiserver.k8s.io/v1beta2"},
		{"flowcontrol.apiserver.k8s.io/flowschemas/builders", "flowcontrol.apiserver.k8s.io/v1"},
		{"storage.k8s.io/csistoragecapacities/default/csisc-beta", "storage.k8s.io/v1beta1"},
		{"core/events/default/started", "events.k8s.io/v1"},
		{"core/pods/default/everything", "v1"},
		{"apiextensions.k8s.io/customresourcedefinitions/lasts.shoes.example.com", "apiextensions.k8s.io/v1"},
	} {
		t.Run(strings.ReplaceAll(c.apiVersion+" "+c.key, "/", "_"), func(t *testing.T) {
			_, want := object(t, form, c.key)
			row := form.rows.Snapshot().Type(c.key).Version(c.apiVersion)
			text, err := stored.Served(t.Context(), row.Resource, want.Body)
			if err != nil {
				t.Fatal(err)
			}
			message, err := row.Schema.Binary().Append(nil, row.Type, text)
			if err != nil {
				t.Fatal(err)
			}
			for name, data := range map[string][]byte{"JSON": text, "binary": codec.AppendEnvelope(nil, c.apiVersion, row.Kind, message)} {
				got, err := form.Decode(c.key, data)
				if err != nil || !bytes.Equal(got.Body, want.Body) || !bytes.Equal(got.Meta, want.Meta) || got.RevisionAt != want.RevisionAt {
					t.Errorf("as %s it is read as\n%s %v\nwant\n%s", name, got.Body, err, want.Body)
				}
			}
		})
	}
}

// TestFormats writes every recorded object in each format, and reads it again. A value in another
// format is stale.
func TestFormats(t *testing.T) {
	objects, _ := recordings(t)
	usual := New(everyKind(t))
	for format, begin := range map[codec.Format]string{codec.JSON: "{", codec.YAML: "", codec.Binary: "k8s\x00"} {
		form := New(everyKind(t)).Written(format)
		for _, r := range objects {
			want, err := usual.Decode(r.Key, r.Value)
			if err != nil {
				t.Fatal(err)
			}
			data, err := form.Encode(r.Key, want)
			if err != nil {
				t.Fatal(err)
			}
			got, err := usual.Decode(r.Key, data)
			if err != nil || !bytes.Equal(got.Body, want.Body) || !bytes.Equal(got.Meta, want.Meta) || got.RevisionAt != want.RevisionAt {
				t.Errorf("%q is read as\n%s %v\nwant\n%s", data, got.Body, err, want.Body)
			}
			begin, stale := begin, format != codec.Binary
			if !usual.Varies(r.Key) {
				begin, stale = "{", false
			}
			if !bytes.HasPrefix(data, []byte(begin)) || formatOf(data) != format && usual.Varies(r.Key) || form.Stale(r.Key, data) || usual.Stale(r.Key, data) != stale ||
				form.Stale(r.Key, r.Value) != stale && !filledByReaders(r.Key) {
				t.Errorf("%s is written as %.40q, which begins not with %q, or is stale where it should not", r.Key, data, begin)
			}
		}
		allocation := store.Value{Body: []byte("10.0.0.0/16\n\x01\x00\xff"), RevisionAt: -1}
		data, err := form.Encode("ranges/serviceips", allocation)
		if got, failed := usual.Decode("ranges/serviceips", data); err != nil || failed != nil || !bytes.HasPrefix(data, []byte(begin)) || !bytes.Equal(got.Body, allocation.Body) {
			t.Errorf("%q is read as %q, %v %v", data, got.Body, err, failed)
		}
	}
}

// TestCBOR reads objects in CBOR, as a kube-apiserver keeps custom ones whose release has it. They are
// not stale: nothing says in which form such a cluster wants them.
func TestCBOR(t *testing.T) {
	form := New(everyKind(t))
	const key = "apps/controllerrevisions/default/a"
	text := []byte(`{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"a","namespace":"default","managedFields":[{"fieldsV1":{"f:data":{}}}]},"data":{"k":[1,-2.5]},"revision":3}`)
	data, err := codec.AppendCBOR([]byte(codec.CBORTag), text)
	if err != nil {
		t.Fatal(err)
	}
	want, err := form.Decode(key, text)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := form.Decode(key, data); err != nil || !bytes.Equal(got.Body, want.Body) {
		t.Errorf("%x is read as\n%s %v\nwant\n%s", data, got.Body, err, want.Body)
	}
	if got, err := form.Decode(key, data[:len(data)-3]); err == nil {
		t.Errorf("a part is read as %s", got.Body)
	}
}

// TestOlderText reads JSON in the versions that the catalog does not have.
func TestOlderText(t *testing.T) {
	form := New(everyKind(t))
	for _, c := range []struct{ key, text, want string }{
		{"policy/poddisruptionbudgets/default/a", `{"kind":"PodDisruptionBudget","apiVersion":"policy/v1beta1","metadata":{"name":"a","namespace":"default"},"spec":{"selector":{}}}`,
			`"selector":{"matchExpressions":[{"key":"pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match","operator":"Exists"}]}`},
		{"discovery.k8s.io/endpointslices/default/a", `{"kind": "EndpointSlice", "apiVersion": "discovery.k8s.io/v1beta1", "metadata": {"name": "a", "namespace": "default"},
			"addressType": "IPv4", "endpoints": [{"addresses": ["10.0.0.1"], "nodeName": "n", "topology":
			{"topology.kubernetes.io/zone": "z", "kubernetes.io/hostname": "m", "a": "b"}}]}`,
			`"deprecatedTopology":{"a":"b","kubernetes.io/hostname":"m"},"nodeName":"n","zone":"z"`},
		{"apiextensions.k8s.io/customresourcedefinitions/as.example.com", `{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1beta1","metadata":{"name":"as.example.com"},
			"spec":{"group":"example.com","version":"v1","names":{"plural":"as","kind":"A"},"scope":"Cluster","validation":{"openAPIV3Schema":{"type":"object"}},
			"additionalPrinterColumns":[{"name":"B","type":"string","JSONPath":".b"}]}}`,
			`"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}},` +
				`"additionalPrinterColumns":[{"name":"B","type":"string","jsonPath":".b"}]}],"conversion":{"strategy":"None"},"preserveUnknownFields":true}`},
	} {
		got, err := form.Decode(c.key, []byte(c.text))
		if err != nil || !strings.Contains(string(got.Body), c.want) {
			t.Errorf("%s is read as\n%s %v\nwithout\n%s", c.key, got.Body, err, c.want)
		}
	}
}

// TestRecords writes and reads records of the server itself.
func TestRecords(t *testing.T) {
	form := New(everyKind(t))
	for _, v := range []store.Value{
		{Body: []byte("secret"), RevisionAt: -1},
		{Body: []byte{}, RevisionAt: -1},
		{Body: []byte(`{"since":}`), RevisionAt: 9},
		{Meta: []byte("labels"), Body: bytes.Repeat([]byte("x"), 300), RevisionAt: 300},
	} {
		data, err := form.Encode("capstan/record", v)
		if err != nil {
			t.Fatal(err)
		}
		got, err := form.Decode("capstan/record", data)
		if err != nil || got.RevisionAt != v.RevisionAt || !bytes.Equal(got.Body, v.Body) || !bytes.Equal(got.Meta, v.Meta) {
			t.Errorf("%+v became %+v %v", v, got, err)
		}
		for i := range data {
			if i < len(data)-len(v.Body) {
				if _, err := form.Decode("capstan/record", data[:i]); err == nil || !strings.Contains(err.Error(), "/capstan/record") {
					t.Errorf("the first %d bytes of %q were read: %v", i, data, err)
				}
			}
		}
	}
}

// TestLast compares the last value of objects with the value that they were stored as.
func TestLast(t *testing.T) {
	form := New(everyKind(t))
	objects, _ := recordings(t)
	for _, r := range objects {
		v, err := form.Decode(r.Key, r.Value)
		if err != nil {
			t.Fatal(err)
		}
		last, err := form.Last(store.Entry{Key: r.Key, Revision: 1234, Value: store.Encode(v, 1234).Value})
		if err != nil || last.RevisionAt != v.RevisionAt || !bytes.Equal(last.Body, v.Body) || !bytes.Equal(last.Meta, v.Meta) {
			t.Errorf("the last value is\n%+v %v\nand was\n%+v", last, err, v)
		}
	}
	record := store.Entry{Key: "capstan/record", Value: store.Value{Body: []byte("x"), RevisionAt: -1}}
	if last, err := form.Last(record); err != nil || string(last.Body) != "x" || last.RevisionAt != -1 {
		t.Errorf("%+v %v", last, err)
	}
	if _, err := form.Last(store.Entry{Key: "core/pods/default/a", Value: store.Value{Body: []byte("{}")}}); err == nil || !strings.Contains(err.Error(), "core/pods/default/a") {
		t.Error(err)
	}
}

// TestWrongValues checks that errors name the key and the mistake.
func TestWrongValues(t *testing.T) {
	form := New(everyKind(t))
	pod, v := object(t, form, "core/pods/default/web")
	for _, c := range []struct{ key, data, want string }{
		{pod.Key, "", "does not begin"},
		{pod.Key, "k8s\x00", "no message"},
		{pod.Key, string(pod.Value[:len(pod.Value)/2]), "ends in the middle"},
		{pod.Key, "k8s:enc:aescbc:v1:key1:x", "encrypted"},
		{pod.Key, strings.Replace(string(pod.Value), "\x03Pod", "\x03Pot", 1), `a "Pot", not a Pod`},
		{pod.Key, strings.Replace(string(pod.Value), "\x02v1", "\x02v9", 1), `version "v9"`},
		{pod.Key, string(codec.AppendEnvelope(nil, "v1", "Pod", nil)), `its name is ""`},
		{pod.Key, `{"kind":"Pod","apiVersion":"v1","metadata":[]}`, "metadata"},
		{strings.Replace(pod.Key, "default", "other", 1), string(pod.Value), "not that of the key"},
		{pod.Key, strings.Repeat(" ", maxValue+1), "more than"},
		{"policy/poddisruptionbudgets/default/a", `{"kind":"PodDisruptionBudget","apiVersion":"policy/v2"}`, `version "policy/v2"`},
		{"shoes.example.com/cobblers/default/anna", "k8s\x00x", "ends in the middle"},
		{"shoes.example.com/cobblers/default/anna", string(pod.Value), "binary form"},
		{"shoes.example.com/cobblers/default/anna", "{", "json"},
		{"new.example.com/things/a", `{"kind":"Thing","apiVersion":"new.example.com/v1"}`, `its name is ""`},
	} {
		if got, err := form.Decode(c.key, []byte(c.data)); err == nil || !strings.Contains(err.Error(), form.Place(c.key)) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q at %s: %+v %v, want %s", c.data, c.key, got, err, c.want)
		}
	}
	v.RevisionAt = -1
	if _, err := form.Encode(pod.Key, v); err == nil || !strings.Contains(err.Error(), pod.Key) {
		t.Errorf("a body without a place for its revision was encoded: %v", err)
	}
	many := fmt.Sprintf(`{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1beta1","metadata":{"name":"a"},"spec":{"validation":{"openAPIV3Schema":{"description":%q}},"versions":[{}%s]}}`,
		strings.Repeat("x", 100_000), strings.Repeat(",{}", 1000))
	if _, err := form.Decode("apiextensions.k8s.io/customresourcedefinitions/a", []byte(many)); err == nil || !strings.Contains(err.Error(), "so many versions") {
		t.Errorf("a small definition became a large one: %v", err)
	}
}

// FuzzDecode checks that no bytes make Decode panic, and that an object that it reads can be
// encoded and then is the same.
func FuzzDecode(f *testing.F) {
	form := New(everyKind(f))
	objects, _ := recordings(f)
	for i, r := range objects {
		f.Add(i, r.Value)
		f.Add(i, r.Value[:len(r.Value)*3/4])
		f.Add(i, []byte(r.Object))
	}
	objects = append(objects, recorded{Key: "capstan/record"}, recorded{Key: "new.example.com/things/a"})
	f.Add(len(objects)-2, []byte("\x00\x00{}"))
	f.Add(len(objects)-1, []byte(`{"kind":"Thing","metadata":{"name":"a"},"b":{"d":1.0,"c":"<"}}`))
	f.Fuzz(func(t *testing.T, i int, data []byte) {
		key := objects[uint(i)%uint(len(objects))].Key
		v, err := form.Decode(key, data)
		if err != nil {
			return
		}
		encoded, err := form.Encode(key, v)
		if err != nil {
			t.Fatalf("%s: %v\n%s", key, err, v.Body)
		}
		again, err := form.Decode(key, encoded)
		if err != nil {
			t.Fatalf("%v\n%q", err, encoded)
		}
		if !bytes.Equal(again.Body, v.Body) {
			t.Fatalf("%s became\n%s\nand was\n%s", key, again.Body, v.Body)
		}
	})
}
