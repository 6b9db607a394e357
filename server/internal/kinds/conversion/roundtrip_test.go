package conversion_test

import (
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/convert"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/drawing"
	"github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/internal/gen/releases"
	"github.com/capstan-dev/capstan/server/internal/kinds/conversion"
	"github.com/capstan-dev/capstan/server/internal/kinds/policy"
)

// converted are all rows with another storage version, of the last release that has each conversion.
func converted(t testing.TB) map[string]*api.Resource {
	rows := map[string]*api.Resource{}
	for _, release := range releases.History().All {
		edition, err := catalog.Edition(release)
		if err != nil {
			t.Fatal(err)
		}
		for _, gv := range catalog.Of(edition, policy.New(time.Now), conversion.Hooks{}) {
			for i := range gv.Resources {
				if c := gv.Resources[i].Conversion; c != nil {
					rows[gv.Group+"/"+gv.Version+" "+gv.Resources[i].Plural+" as "+c.Version] = &gv.Resources[i]
				}
			}
		}
	}
	return rows
}

// object makes an object of a row as a server would have it.
func object(t *testing.T, res *api.Resource, seed uint64) *document.Document {
	doc, err := document.ReadTyped(res.GV.Table, res.Type, drawing.New(res.GV.Table, seed).Value(res.Type))
	if err != nil {
		t.Fatal(err)
	}
	root := doc.Root()
	root.SetString("kind", res.Kind)
	root.SetString("apiVersion", res.GV.APIVersion())
	if res.Kind == "HorizontalPodAutoscaler" {
		normalAutoscaler(root)
		if res.GV.Version != "v1" {
			conversion.DefaultMetrics(root.SetObject("spec")) // as decoding does
		}
	}
	normalLater(root)
	return doc
}

// normalLater completes objects of later releases like every stored one: levels with a weight, devices and their requests with
// the members that validation demands.
func normalLater(obj document.Value) {
	if limited := obj.At("spec", "limited"); limited.Exists() && !limited.Get("assuredConcurrencyShares").Exists() {
		limited.SetInt("nominalConcurrencyShares", 5)
	}
	for _, d := range obj.At("spec", "devices").Elements() {
		if table, _ := d.Type(); table.Version == "v1beta1" || table.Version == "v1alpha3" {
			d.SetObject("basic")
		}
	}
	if obj.Get("kind").Equals("ResourceSlice") { // absent and empty are the same in v1beta1
		if spec := obj.Get("spec"); spec.Get("nodeName").Equals("") {
			spec.Remove("nodeName")
		}
		if spec := obj.Get("spec"); !spec.Get("allNodes").Bool() {
			spec.Remove("allNodes")
		}
	}
	for _, spec := range []document.Value{obj.Get("spec"), obj.At("spec", "spec")} {
		for _, r := range spec.At("devices", "requests").Elements() {
			if inside := r.Get("exactly"); inside.Exists() {
				inside.SetString("deviceClassName", "gpu")
			} else if table, _ := r.Type(); table.Version == "v1beta1" {
				r.SetString("deviceClassName", "gpu")
			}
		}
	}
}

// normalAutoscaler completes an object like every stored one: targets with a type, and no
// empty values that decoding would have filled in.
func normalAutoscaler(obj document.Value) {
	for _, m := range obj.At("spec", "metrics").Elements() {
		for name := range m.Members() {
			if target := m.At(name, "target"); target.Exists() {
				target.SetString("type", "Value")
			}
		}
	}
	if obj.At("spec", "behavior").Len() == 0 {
		obj.Get("spec").Remove("behavior")
	}
	if v := obj.At("status", "currentMetrics"); v.Exists() && v.Len() == 0 {
		obj.Get("status").SetNull("currentMetrics")
	}
	conversion.DropAutoscalerAnnotations(obj)
	conversion.NormalMeasurements(obj.Get("status"))
	conversion.NormalMetrics(obj.At("spec", "metrics"))
}

func text(v document.Value) string { return string(v.AppendJSON(nil)) }

// roundTrip takes a stored object through a version, and an object of the version through
// the storage version.
func roundTrip(t *testing.T, res *api.Resource, seed uint64) {
	t.Helper()
	stored := object(t, res.Storage(), seed)
	defer stored.Release()
	served, err := convert.FromStorage(t.Context(), res, stored.Root())
	if err != nil {
		t.Fatal(err)
	}
	defer served.Release()
	canonical(t, res, served.Root())
	back, err := convert.ToStorage(t.Context(), res, served.Root())
	if err != nil {
		t.Fatal(err)
	}
	defer back.Release()
	canonical(t, res.Storage(), back.Root())
	if a, b := text(stored.Root()), text(back.Root()); a != b {
		t.Fatalf("seed %d: %s of %s was\n%s\nin that version\n%s\nand came back as\n%s", seed, res.Kind, res.GV.APIVersion(), a, text(served.Root()), b)
	}
	quick, err := convert.AppendServed(t.Context(), nil, res, stored.Root().AppendJSON(nil))
	if err != nil || string(quick) != text(served.Root()) {
		t.Fatalf("the text is\n%s, error %v, the tree\n%s", quick, err, text(served.Root()))
	}

	own := object(t, res, seed)
	defer own.Release()
	once, err := convert.ToStorage(t.Context(), res, own.Root())
	if err != nil {
		t.Fatal(err)
	}
	defer once.Release()
	again, err := convert.FromStorage(t.Context(), res, once.Root())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Release()
	twice, err := convert.ToStorage(t.Context(), res, again.Root())
	if err != nil {
		t.Fatal(err)
	}
	defer twice.Release()
	// [] may come back as null, and fields also as annotations: the stored form decides.
	if a, b := text(once.Root()), text(twice.Root()); a != b {
		t.Fatalf("seed %d: %s of %s\n%s\nis stored as\n%s\nand after being read and written again as\n%s", seed, res.Kind, res.GV.APIVersion(), text(own.Root()), a, b)
	}
}

// canonical checks that an object has the text of a decoded one.
func canonical(t *testing.T, res *api.Resource, obj document.Value) {
	t.Helper()
	a := text(obj)
	doc, err := document.ReadTyped(res.GV.Table, res.Type, []byte(a))
	if err != nil {
		t.Fatalf("%v in\n%s", err, a)
	}
	defer doc.Release()
	if b := text(doc.Root()); a != b {
		t.Fatalf("a conversion to %s gives\n%s\nwhich is read as\n%s", res.GV.APIVersion(), a, b)
	}
	if got := obj.Get("apiVersion").Text(); got != res.GV.APIVersion() {
		t.Fatalf("apiVersion %s, want %s", got, res.GV.APIVersion())
	}
}

func TestRoundTrip(t *testing.T) {
	rows := converted(t)
	if len(rows) < 20 {
		t.Fatalf("%d rows are stored in another version", len(rows))
	}
	for name, res := range rows {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(400) {
				roundTrip(t, res, seed)
			}
		})
	}
}

func FuzzRoundTrip(f *testing.F) {
	rows := converted(f)
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) {
		for _, res := range rows {
			roundTrip(t, res, seed)
		}
	})
}
