package stored

import (
	"bytes"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/document"
	generated "github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/kinds/conversion"
	"github.com/capstan-dev/capstan/server/internal/kinds/policy"
)

// BenchmarkOldObject measures the extra cost of a read in a store that may have old
// objects: nothing for one younger than the documents, and a decode for an older one,
// whether it lacks a default or not. A store without old objects is used directly.
func BenchmarkOldObject(b *testing.B) {
	kinds := NewKinds(catalog.New(generated.New(policy.New(time.Now), conversion.Hooks{}), generated.Meta()).Snapshot())
	kind := kinds["core/pods/"]
	kind.since = 10
	doc, err := Read(kind.res, []byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web","namespace":"default","uid":"u","resourceVersion":"","labels":{"a":"b"}},
		"spec":{"containers":[{"name":"c","image":"i","ports":[{"containerPort":80}],"livenessProbe":{"tcpSocket":{"port":80}}},{"name":"d","image":"i"}],"volumes":[{"name":"v","emptyDir":{}}]}}`), document.Value{})
	if err != nil {
		b.Fatal(err)
	}
	v, err := Seal(kind.res, doc.Root(), new(Space))
	if err != nil {
		b.Fatal(err)
	}
	stored := entryOf(v, &store.Entry{Key: "core/pods/default/web", Revision: 7})
	young, lacking := stored, stored
	young.Revision = 11
	lacking.Body = bytes.Replace(stored.Body, []byte(`"imagePullPolicy":"Always"`), nil, 1)
	lacking.Body = bytes.Replace(lacking.Body, []byte(`,}`), []byte(`}`), 1)
	for _, c := range []struct {
		name  string
		entry store.Entry
	}{{"young", young}, {"complete", stored}, {"lacking", lacking}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if e, err := kind.current(&c.entry, Newest); err != nil || e.Revision != c.entry.Revision {
					b.Fatal(e, err)
				}
			}
		})
	}
}
