package policies

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/capstan-dev/capstan/internal/authn"
	generated "github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/admission/matching"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/kinds/conversion"
	hooks "github.com/capstan-dev/capstan/server/internal/kinds/policy"
)

// BenchmarkUnmatched is the cost of a write that no policy is for, by the number of bound
// policies.
func BenchmarkUnmatched(b *testing.B) {
	for _, n := range []int{0, 1, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, err := store.Open(store.Config{Dir: "data", FS: vfs.NewMem()})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			c := catalog.New(generated.New(hooks.New(time.Now), conversion.Hooks{}), generated.Meta())
			for i := range n {
				for plural, spec := range map[string]string{
					"validatingadmissionpolicies":       `"matchConstraints":{"resourceRules":[{"operations":["CREATE"],"apiGroups":["apps"],"apiVersions":["v1"],"resources":["deployments"],"scope":"*"}],"matchPolicy":"Equivalent"}`,
					"validatingadmissionpolicybindings": fmt.Sprintf(`"policyName":"p%d","validationActions":["Deny"]`, i)} {
					row := c.Snapshot().Stored(group, plural)
					name := fmt.Sprintf("p%d", i)
					body := fmt.Sprintf(`{"kind":%q,"apiVersion":%q,"metadata":{"name":%q},"spec":{%s}}`, row.Kind, row.GV.APIVersion(), name, spec)
					if _, err := s.Update(context.Background(), row.Key("", name), func(*store.Entry) (store.Write, error) {
						return store.Write{Op: store.OpCreate, Value: store.Value{Body: []byte(body), RevisionAt: -1}}, nil
					}); err != nil {
						b.Fatal(err)
					}
				}
			}
			p, err := Open(context.Background(), Config{Store: s, Matcher: &matching.Matcher{Catalog: c}, Log: slog.Default()})
			if err != nil {
				b.Fatal(err)
			}
			defer p.Close()
			pods := c.Snapshot().Core("pods").Resource
			r := &admission.Request{Operation: admission.Create, Resource: pods, Asked: pods, User: &authn.User{Name: "a"}}
			b.ReportAllocs()
			for b.Loop() {
				if p.Waits(admission.Create, pods, "") {
					b.Fatal("it waits")
				}
				if changed, _, err := p.Admit(context.Background(), r); changed || err != nil {
					b.Fatal(err)
				}
				if err := p.Check(context.Background(), r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
