package apply

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/document"
	apps "github.com/capstan-dev/capstan/internal/gen/apps/v1"
	generated "github.com/capstan-dev/capstan/internal/gen/catalog"
	core "github.com/capstan-dev/capstan/internal/gen/core/v1"
	"github.com/capstan-dev/capstan/internal/schema"
)

func newReader(b []byte) io.Reader { return bytes.NewReader(b) }

var coreTable, appsTable = Merging(&core.Table), Merging(&apps.Table)

// claimsTable is the release whose devices of claims have a key that may be absent.
var claimsTable = tableOf("1.36", "resource/v1")

func tableOf(release, version string) *schema.Table {
	edition, err := generated.Edition(release)
	if err != nil {
		panic(err)
	}
	return edition.Table(version, generated.Tables()[version])
}

func claimKind() *Kind {
	return &Kind{Table: Merging(claimsTable), Type: claimsTable.Root("ResourceClaim"), APIVersion: "resource.k8s.io/v1", Name: "ResourceClaim"}
}

func coreKind(name string) *Kind {
	return &Kind{Table: coreTable, Type: core.Table.Root(name), APIVersion: "v1", Name: name}
}

func appsKind(name string) *Kind {
	return &Kind{Table: appsTable, Type: apps.Table.Root(name), APIVersion: "apps/v1", Name: name}
}

func testKinds() []*Kind {
	return []*Kind{coreKind("Pod"), coreKind("Service"), coreKind("ConfigMap"), appsKind("Deployment"), claimKind()}
}

// zeroJSON is a new object: the fields that are always written.
func zeroJSON(t *schema.Table, r schema.Ref) any {
	typ := &t.Types[r]
	switch typ.Kind {
	case schema.Object:
		out := map[string]any{}
		for i := range typ.Fields {
			if typ.Fields[i].Presence == schema.Always {
				out[typ.Fields[i].Name] = zeroJSON(t, typ.Fields[i].Type)
			}
		}
		return out
	case schema.String, schema.Bytes:
		return ""
	case schema.Boolean:
		return false
	case schema.Integer, schema.Number, schema.IntOrString:
		return 0
	case schema.Quantity:
		return "0"
	case schema.Duration:
		return "0s"
	}
	return nil
}

func mustText(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// read makes an object of JSON as the server does.
func (k *Kind) read(text []byte) (*document.Document, error) {
	table := &core.Table
	switch k.APIVersion {
	case "apps/v1":
		table = &apps.Table
	case "resource.k8s.io/v1":
		table = claimsTable
	}
	d := document.Decoder{Table: table}
	doc, _, err := d.Decode(k.Type, text)
	return doc, err
}

// plain is an object without managedFields.
func plain(text []byte) any {
	v := fromJSON(text)
	if m, ok := v.(map[string]any); ok {
		if meta, ok := m["metadata"].(map[string]any); ok {
			delete(meta, "managedFields")
		}
	}
	return v
}

func entriesOf(t *testing.T, obj document.Value) []string {
	t.Helper()
	l, err := readLedger(obj.At("metadata", "managedFields"), true)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range l {
		fields := string(e.fields().AppendJSON(nil))
		if again := string(e.owned().AppendFields(nil)); again != fields {
			t.Fatalf("fields are not canonical: %s is written as %s", fields, again)
		}
		out = append(out, e.id.String()+" "+e.time+" "+fields)
	}
	slices.Sort(out)
	return out
}

// withEmpty restores empty lists that were sent, and are null when stored, in an object.
func withEmpty(v document.Value, in any) any {
	if v.SentEmpty() {
		return []any{}
	}
	switch x := in.(type) {
	case map[string]any:
		for name, m := range v.Members() {
			if below, ok := x[name]; ok {
				x[name] = withEmpty(m, below)
			}
		}
	case []any:
		for i, e := range v.Elements() {
			x[i] = withEmpty(e, x[i])
		}
	}
	return in
}

// run writes an object many times and compares the owned fields with the reference.
func run(t *testing.T, k *Kind, seed uint64, steps int) (conflicts int) {
	m := &maker{Rand: rand.New(rand.NewPCG(seed, 1)), table: k.Table, fields: map[schema.Ref][]int{}}
	ref := newReference(k)
	zero := zeroJSON(k.Table, k.Type)
	reset := NewSet([]string{"status"})
	if k.Name == "ResourceClaim" {
		reset = NewSet([]string{"spec"}) // as its status does, which has the devices
	}
	var live *document.Document
	var err error
	before := map[string][]byte{} // last applied configuration by manager
	for step := range steps {
		w := Write{Manager: "m" + m.word(), Time: fmt.Sprintf("2022-01-01T00:%02d:00Z", step), Reset: reset}
		var log string
		fail := func(format string, args ...any) {
			t.Helper()
			current := ""
			if live != nil {
				current = string(live.Root().AppendJSON(nil))
			}
			t.Fatalf("%s seed %d step %d %s\nlive %s\n%s", k.Name, seed, step, log, current, fmt.Sprintf(format, args...))
		}
		var liveJSON any
		if live != nil {
			liveJSON = plain(live.Root().AppendJSON(nil))
		}
		if m.IntN(3) == 0 {
			text := mustText(m.object(k, false))
			log = "update by " + w.Manager + " " + string(text)
			next, err := k.read(text)
			if err != nil {
				continue
			}
			newJSON := plain(next.Root().AppendJSON(nil))
			lhs := liveJSON
			if live == nil {
				lhs = zero
			}
			sent := withEmpty(next.Root(), plain(next.Root().AppendJSON(nil)))
			if err := ref.update(lhs, sent, w, live == nil); err != nil {
				fail("reference: %v", err)
			}
			var old document.Value
			if live != nil {
				old = live.Root()
			}
			if err := k.Update(old, next.Root(), w); err != nil {
				fail("%v", err)
			}
			if got := plain(next.Root().AppendJSON(nil)); !sameValue(got, newJSON) {
				fail("an update changed the object to %s", mustText(got))
			}
			live = next
		} else {
			text := mustText(m.object(k, true))
			if again := before[w.Manager]; again != nil && m.IntN(3) == 0 {
				text = again
			}
			before[w.Manager] = text
			force := m.IntN(3) == 0
			log = fmt.Sprintf("apply by %s force %v %s", w.Manager, force, text)
			if check, err := k.read(text); err != nil {
				continue
			} else {
				check.Release()
			}
			want, wantConflicts, err := ref.apply(liveJSON, zero, fromJSON(text), w, force)
			if err != nil {
				fail("reference: %v", err)
			}
			applied, err := document.DecodeAny(text, document.Limits{})
			if err != nil {
				fail("%v", err)
			}
			var old document.Value
			if live != nil {
				old = live.Root()
			}
			body, err := k.Apply(old, applied.Root(), w, force)
			var gotConflicts []string
			if c := conflictsOf(k, old, applied.Root(), w, force); err != nil {
				gotConflicts = c
			}
			if !slices.Equal(gotConflicts, wantConflicts) {
				fail("conflicts\ngot  %v (%v)\nwant %v", gotConflicts, err, wantConflicts)
			}
			if err != nil {
				conflicts++
				continue
			}
			if live == nil {
				// The reference merges into the fields that are always written, which
				// decoding adds to ours.
				if body, want, err = k.completed(body, want); err != nil {
					return conflicts
				}
			}
			if got := plain(body); !sameValue(got, want) {
				fail("merged\ngot  %s\nwant %s", mustText(got), mustText(want))
			}
			next, err := k.read(body)
			if err != nil {
				return conflicts // a null where none is allowed
			}
			live = next
		}
		// The server has a stored object only, in which an empty list that was sent is null.
		if live, err = k.read(live.Root().AppendJSON(nil)); err != nil {
			return conflicts // a null where none is allowed
		}
		if got, want := entriesOf(t, live.Root()), ref.entries(t); !slices.Equal(got, want) {
			fail("entries\ngot  %s\nwant %s", strings.Join(got, "\n     "), strings.Join(want, "\n     "))
		}
	}
	return conflicts
}

// completed reads two new objects as the server does.
func (k *Kind) completed(body []byte, want any) ([]byte, any, error) {
	a, err := k.read(body)
	if err != nil {
		return nil, nil, err
	}
	defer a.Release()
	b, err := k.read(mustText(want))
	if err != nil {
		return nil, nil, err
	}
	defer b.Release()
	return a.Root().AppendJSON(nil), plain(b.Root().AppendJSON(nil)), nil
}

func conflictsOf(k *Kind, live, applied document.Value, w Write, force bool) []string {
	_, err := k.applyOnce(live, applied, w, force)
	c, ok := err.(*conflictError)
	if !ok {
		return nil
	}
	var out []string
	for _, c := range c.conflicts {
		out = append(out, c.id.String()+" "+pathText(c.path))
	}
	slices.Sort(out)
	return out
}

func TestAgainstReference(t *testing.T) {
	count := 60
	if testing.Short() {
		count = 15
	}
	for _, k := range testKinds() {
		t.Run(k.Name, func(t *testing.T) {
			conflicts := 0
			for seed := range count {
				conflicts += run(t, k, uint64(seed), 12)
			}
			if conflicts == 0 {
				t.Error("no conflict in all runs")
			}
		})
	}
}

func FuzzAgainstReference(f *testing.F) {
	f.Add(uint64(1), uint8(0))
	f.Add(uint64(242), uint8(136)) // a Pod with an empty list of containers, twice
	f.Fuzz(func(t *testing.T, seed uint64, kind uint8) {
		kinds := testKinds()
		run(t, kinds[int(kind)%len(kinds)], seed, 20)
	})
}
