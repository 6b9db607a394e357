package policies

import (
	"context"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/admission/matching"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/live"
	"github.com/capstan-dev/capstan/server/internal/metrics"
)

// Config holds the dependencies of the policies.
type Config struct {
	Store   store.Store
	Matcher *matching.Matcher
	Objects Objects
	Log     *slog.Logger
	Metrics *metrics.Policies // nil for none
	// MaxBytes bounds a changed object.
	MaxBytes int
}

// Objects reads the parameters of policies.
type Objects interface {
	// In reads an object in the version of a row; the caller releases it. Errors: 404.
	In(ctx context.Context, row *catalog.Row, namespace, name string) (*document.Document, error)
	// EachIn visits the objects of a namespace, or of all for "", in the version of a row,
	// until visit returns false. The objects are valid until it returns.
	EachIn(ctx context.Context, row *catalog.Row, namespace string, visit func(obj document.Value) bool) error
}

// group has the policies.
const group = "admissionregistration." + profile.GroupSuffix

// Policies are the policies of the cluster, as new as the last acknowledged write of one or
// of a binding. They implement admission.Reviewer.
type Policies struct {
	cfg        Config
	mutating   *bound
	validating *bound
}

// Open reads the policies, and follows them until Close.
func Open(ctx context.Context, cfg Config) (*Policies, error) {
	p := &Policies{cfg: cfg}
	var err error
	if p.validating, err = follow(ctx, &cfg, "validatingadmissionpolicies", "validatingadmissionpolicybindings", readValidating); err != nil {
		return nil, err
	}
	if p.mutating, err = follow(ctx, &cfg, "mutatingadmissionpolicies", "mutatingadmissionpolicybindings", readMutating); err != nil {
		p.validating.close()
		return nil, err
	}
	return p, nil
}

// Close ends following.
func (p *Policies) Close() {
	p.mutating.close()
	p.validating.close()
}

// bound is the policies of one type with their bindings.
type bound struct {
	policies *live.Collection[*policy]
	bindings *live.Collection[*binding]
	inOrder  live.Index[*policy, *matching.Choices[*policy]] // of names
	of       live.Index[*binding, map[string][]*binding]     // by the policy, in the order of names
}

func follow(ctx context.Context, cfg *Config, plural, bindings string, read func(document.Value) *policy) (*bound, error) {
	snapshot := cfg.Matcher.Catalog.Snapshot()
	row, bindingRow := snapshot.Stored(group, plural), snapshot.Stored(group, bindings)
	if row == nil || bindingRow == nil {
		return nil, fmt.Errorf("the catalog has no %s: regenerate from documents that do", plural)
	}
	b := &bound{}
	var err error
	b.policies, err = live.Open(ctx, live.Config[*policy]{Store: cfg.Store, Prefixes: []string{row.Prefix("")}, Decode: live.Read(row, read), Logger: cfg.Log})
	if err != nil {
		return nil, err
	}
	b.bindings, err = live.Open(ctx, live.Config[*binding]{Store: cfg.Store, Prefixes: []string{bindingRow.Prefix("")},
		Decode: live.Read(bindingRow, readBinding), Logger: cfg.Log})
	if err != nil {
		b.policies.Close()
		return nil, err
	}
	b.inOrder, b.of = live.Derive(b.policies, newInOrder()), live.Derive(b.bindings, byPolicy)
	return b, nil
}

func (b *bound) close() {
	b.policies.Close()
	b.bindings.Close()
}

// all are the policies that may be for such a write and have a binding, with the bindings.
func (b *bound) all(m *matching.Matcher, o admission.Operation, resource *api.Resource, subresource string) iter.Seq2[*policy, []*binding] {
	return func(yield func(*policy, []*binding) bool) {
		policies := b.inOrder.Of(b.policies.View()).For(m, o, resource, subresource)
		if len(policies) == 0 {
			return
		}
		bindings := b.of.Of(b.bindings.View())
		for _, p := range policies {
			if of := bindings[p.name]; len(of) > 0 && !yield(p, of) {
				return
			}
		}
	}
}

// newInOrder returns the fold of changes into the list of all policies.
func newInOrder() func(*matching.Choices[*policy], []live.Change[*policy]) *matching.Choices[*policy] {
	byName := map[string]*policy{}
	return func(_ *matching.Choices[*policy], changes []live.Change[*policy]) *matching.Choices[*policy] {
		for _, c := range changes {
			if delete(byName, c.Key); c.After != nil {
				byName[c.Key] = c.After
			}
		}
		var all []*policy
		for _, key := range slices.Sorted(maps.Keys(byName)) {
			all = append(all, byName[key])
		}
		return matching.NewChoices(all, func(p *policy) *matching.Constraints { return &p.constraints })
	}
}

// byPolicy folds changes into the bindings of each policy.
func byPolicy(before map[string][]*binding, changes []live.Change[*binding]) map[string][]*binding {
	now := make(map[string][]*binding, len(before)+1)
	for name, all := range before {
		now[name] = all
	}
	for _, c := range changes {
		if b := c.Before; b != nil {
			now[b.policy] = slices.DeleteFunc(slices.Clone(now[b.policy]), func(other *binding) bool { return other == b })
			if len(now[b.policy]) == 0 {
				delete(now, b.policy)
			}
		}
		if b := c.After; b != nil {
			all := append(slices.Clone(now[b.policy]), b)
			slices.SortFunc(all, func(x, y *binding) int { return strings.Compare(x.name, y.name) })
			now[b.policy] = all
		}
	}
	return now
}

// reviews are the groups whose resources no policy may be for: without them nobody could
// use the cluster.
var reviews = []string{"authentication." + profile.GroupSuffix, "authorization." + profile.GroupSuffix}

// exempt reports whether no policy is for a write: those of the server itself, of policies
// and the configurations of webhooks, and reviews of users and rights.
func exempt(resource *api.Resource) bool {
	return resource.GV.Group == group || slices.Contains(reviews, resource.GV.Group)
}

// Waits reports whether a policy may be for such a write: its expressions take time.
func (p *Policies) Waits(o admission.Operation, resource *api.Resource, subresource string) bool {
	for _, b := range [...]*bound{p.mutating, p.validating} {
		for range b.all(p.cfg.Matcher, o, resource, subresource) {
			return !exempt(resource)
		}
	}
	return false
}
