package webhooks

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/document"
	generated "github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/admission/matching"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/kinds/conversion"
	"github.com/capstan-dev/capstan/server/internal/kinds/policy"
)

// BenchmarkNoConfiguration is the whole cost of a write without webhooks.
func BenchmarkNoConfiguration(b *testing.B) { benchmarkUnmatched(b, 0, "", "") }

// BenchmarkOtherResources is that of a write with 1,000 webhooks for other resources.
func BenchmarkOtherResources(b *testing.B) {
	benchmarkUnmatched(b, 1000, "deployments", "objectSelector")
}

// BenchmarkSelectors is that of a write with 1,000 webhooks for objects with other labels.
func BenchmarkSelectors(b *testing.B) { benchmarkUnmatched(b, 1000, "pods", "objectSelector") }

// BenchmarkNamespaceSelectors is that of a write with 1,000 webhooks for other namespaces,
// whose labels are read once.
func BenchmarkNamespaceSelectors(b *testing.B) {
	benchmarkUnmatched(b, 1000, "pods", "namespaceSelector")
}

func benchmarkUnmatched(b *testing.B, n int, resource, selector string) {
	s, err := store.Open(store.Config{Dir: "data", FS: vfs.NewMem()})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	c := catalog.New(generated.New(policy.New(time.Now), conversion.Hooks{}), generated.Meta())
	for i := range n {
		row := c.Snapshot().Stored(Group, "validatingwebhookconfigurations")
		name := fmt.Sprintf("w%d", i)
		body := fmt.Sprintf(`{"kind":%q,"apiVersion":%q,"metadata":{"name":%q},"webhooks":[{"name":"w.example.com","clientConfig":{"url":"https://localhost"},"matchPolicy":"Equivalent",%q:{"matchLabels":{"app":%q}},"rules":[{"operations":["CREATE"],"apiGroups":["*"],"apiVersions":["*"],"resources":[%q],"scope":"*"}]}]}`, row.Kind, row.GV.APIVersion(), name, selector, name, resource)
		if _, err := s.Update(context.Background(), row.Key("", name), func(*store.Entry) (store.Write, error) {
			return store.Write{Op: store.OpCreate, Value: store.Value{Body: []byte(body), RevisionAt: -1}}, nil
		}); err != nil {
			b.Fatal(err)
		}
	}
	reads := 0
	matcher := &matching.Matcher{Catalog: c, Namespace: func(context.Context, string) (document.Value, func(), error) {
		reads++
		return document.Value{}, func() {}, nil
	}}
	w, err := Open(context.Background(), Config{Store: s, Matcher: matcher, Log: slog.Default()})
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	pods := c.Snapshot().Core("pods").Resource
	doc, err := document.ReadStored(c.Snapshot().Core("pods").GV.Types(), c.Snapshot().Core("pods").Type, []byte(`{"metadata":{"name":"p","labels":{"app":"web","tier":"front"}}}`))
	if err != nil {
		b.Fatal(err)
	}
	r := &admission.Request{Operation: admission.Create, Namespace: "shop", Resource: pods, Asked: pods, User: &authn.User{Name: "a"}, Object: doc.Root()}
	b.ReportAllocs()
	for b.Loop() {
		if w.Waits(admission.Create, pods, "") != (resource == "pods") {
			b.Fatal("the wrong webhooks are for the write")
		}
		if _, again, err := w.Admit(context.Background(), r); again != nil || err != nil {
			b.Fatal(err)
		}
		reads = 0
		if err := w.Check(context.Background(), r); err != nil || reads > 1 {
			b.Fatal(reads, err)
		}
	}
}
