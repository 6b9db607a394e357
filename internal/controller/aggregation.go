package controller

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/selector"
	"github.com/capstan-dev/capstan/internal/store"
)

// aggregation is the controller of aggregated cluster roles: it gives a role with an
// aggregation rule the rules of all roles that the rule selects, in the order of the
// selectors and of the names, each once.
//
// There are few cluster roles, and one may depend on any other, so a change of any
// re-evaluates all. A role that another aggregates may aggregate itself: then the write
// of the one is a change for the other.
type aggregation struct {
	*cluster
	typ   *Type
	queue *queue[struct{}]
}

func newAggregation(ctx context.Context, c *cluster) handler {
	a := &aggregation{cluster: c, typ: c.find(rolesGroup, "clusterroles")}
	a.queue = newQueue(ctx, RoleAggregation, 1, c.Logger, func(ctx context.Context, _ struct{}) error { return a.sync(ctx) })
	return a
}

func (a *aggregation) wants(t *Type) bool { return t == a.typ }
func (a *aggregation) reset()             {}
func (a *aggregation) close()             { a.queue.close() }

func (a *aggregation) observe(_ context.Context, o *observation) {
	if o.typ == a.typ {
		a.queue.add(struct{}{})
	}
}

// clusterRole is the part of a cluster role that aggregation reads. The texts of rules
// are canonical.
type clusterRole struct {
	name      string
	labels    labels.Set
	rules     []string
	selectors []labels.Selector
}

func readClusterRole(name string, body []byte) clusterRole {
	r := clusterRole{name: strings.Clone(name)}
	if text, ok := document.Find(body, "metadata", "labels"); ok {
		_ = json.Unmarshal(text, &r.labels) // a stored map of strings
	}
	rules, _ := document.Find(body, "rules")
	document.EachElement(rules, func(rule []byte) bool {
		r.rules = append(r.rules, string(rule))
		return true
	})
	selectors, _ := document.Find(body, "aggregationRule", "clusterRoleSelectors")
	document.EachElement(selectors, func(text []byte) bool {
		if s, err := document.DecodeAny(text, document.Limits{}); err == nil {
			if selector, err := selector.Checked(s.Root()); err == nil {
				r.selectors = append(r.selectors, selector)
			}
		}
		return true
	})
	return r
}

// aggregate returns the wanted rules of a role, from all roles ordered by name.
func (r *clusterRole) aggregate(all []clusterRole) []string {
	var rules []string
	seen := map[string]bool{}
	for _, selector := range r.selectors {
		for i := range all {
			if all[i].name == r.name || !selector.Matches(all[i].labels) {
				continue
			}
			for _, rule := range all[i].rules {
				if !seen[rule] {
					seen[rule] = true
					rules = append(rules, rule)
				}
			}
		}
	}
	return rules
}

// sync evaluates all roles.
func (a *aggregation) sync(ctx context.Context) error {
	view, err := a.Store.At(ctx, 0)
	if err != nil {
		return err
	}
	defer func() { _ = view.Close() }()
	var all []clusterRole
	err = store.ScanReadable(ctx, view, a.typ.Prefix, func(e *store.Entry) bool { // in the order of names
		all = append(all, readClusterRole(e.Key[len(a.typ.Prefix):], e.Body))
		return true
	}, func(*store.UnreadableError) {})
	if err != nil {
		return err
	}
	var failed []error
	for i := range all {
		r := &all[i]
		if len(r.selectors) == 0 {
			continue
		}
		if rules := r.aggregate(all); !slices.Equal(rules, r.rules) {
			failed = append(failed, ignoreNotFound(a.Cluster.Edit(ctx, a.typ.Resource, "", r.name, "", setRules(rules))))
		}
	}
	return errors.Join(failed...)
}

// setRules is the edit that sets the rules of a role, if it still aggregates.
func setRules(rules []string) func(document.Value) {
	return func(obj document.Value) {
		if obj.At("aggregationRule", "clusterRoleSelectors").Len() > 0 {
			_ = obj.SetRaw("rules", []byte("["+strings.Join(rules, ",")+"]")) // the rules were stored before
		}
	}
}
