package controller

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/allocate"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/store"
)

// serviceRanges is the controller of the ranges of services' addresses. A range gets a finalizer, and the condition
// that it is ready. One that is being deleted goes when each of its addresses in use is in another range too.
type serviceRanges struct {
	*cluster
	typ, addresses *Type
	queue          *queue[string] // by name

	// used by the feed's goroutine only
	ending map[string][]netip.Prefix // the ranges that are being deleted, by name
}

const (
	finalizerRange = networkGroup + "/service-cidr-finalizer"
	addressManager = "ipaddress." + profile.LabelDomain + "/managed-by" // a label
	addressFamily  = "ipaddress." + profile.LabelDomain + "/ip-family"
	allocator      = "ipallocator." + profile.GroupSuffix
)

func newServiceRanges(ctx context.Context, c *cluster) handler {
	r := &serviceRanges{cluster: c, typ: c.find(networkGroup, "servicecidrs"), addresses: c.find(networkGroup, "ipaddresses"),
		ending: make(map[string][]netip.Prefix)}
	r.queue = newQueue(ctx, ServiceRanges, 5, c.Logger, r.sync)
	return r
}

func (r *serviceRanges) wants(t *Type) bool { return t == r.typ }
func (r *serviceRanges) reset()             { clear(r.ending) }
func (r *serviceRanges) close()             { r.queue.close() }

func (r *serviceRanges) observe(_ context.Context, o *observation) {
	switch o.typ {
	case r.typ:
		_, name := o.typ.split(o.key)
		r.observeRange(strings.Clone(name), o)
	case r.addresses:
		if o.op != store.OpUpdate && len(r.ending) > 0 {
			r.observeAddress(o)
		}
	}
}

// observeAddress queues the ranges that an address keeps, or kept, from going.
func (r *serviceRanges) observeAddress(o *observation) {
	_, name := o.typ.split(o.key)
	address, err := netip.ParseAddr(name)
	if err != nil {
		return
	}
	for of, ranges := range r.ending {
		if slices.ContainsFunc(ranges, func(p netip.Prefix) bool { return allocate.Has(p, address) }) {
			r.queue.addAfter(of, settleTime)
		}
	}
}

// observeRange queues a range, and with a new one those that may wait for it.
func (r *serviceRanges) observeRange(name string, o *observation) {
	delete(r.ending, name)
	if o.op == store.OpDelete {
		return
	}
	if terminating(o.body) {
		r.ending[name] = rangesOf(o.body)
	}
	r.queue.add(name)
	if o.op == store.OpCreate {
		for other := range maps.Keys(r.ending) {
			r.queue.add(other)
		}
	}
}

// rangesOf are the ranges of a stored object.
func rangesOf(body []byte) []netip.Prefix {
	return allocate.Prefixes(document.FindTexts(body, "spec", "cidrs"))
}

// readiness is the condition of a range.
type readiness struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Since   string `json:"lastTransitionTime"`
}

func (r *serviceRanges) sync(ctx context.Context, name string) error {
	view, err := r.Store.At(ctx, 0)
	if err != nil {
		return err
	}
	defer func() { _ = view.Close() }()
	e, err := view.Get(r.typ.key("", name))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	give, look := protection(e.Body, finalizerRange)
	if terminating(e.Body) {
		needed, err := r.needed(ctx, view, &e)
		switch {
		case err != nil:
			return err
		case needed:
			return r.setReadiness(ctx, name, e.Body, readiness{Status: "False", Reason: "Terminating",
				Message: "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR"})
		case !look:
			return nil
		}
		if rest := r.graceLeft(e.Body); rest > 0 {
			r.queue.addAfter(name, rest)
			return nil
		}
		return ignoreNotFound(r.Cluster.Edit(ctx, r.typ.Resource, "", name, "", removeFinalizer(finalizerRange)))
	}
	if give {
		if err := r.Cluster.Edit(ctx, r.typ.Resource, "", name, "", addFinalizer(finalizerRange)); err != nil {
			return ignoreNotFound(err)
		}
	}
	return r.setReadiness(ctx, name, e.Body, readiness{Status: "True", Message: "Kubernetes Service CIDR is ready"})
}

// graceLeft is the time until a deleted range may go: other servers have heard of the delete then.
func (r *serviceRanges) graceLeft(body []byte) time.Duration {
	text, _ := document.Find(body, "metadata", "deletionTimestamp")
	at, err := time.Parse(time.RFC3339, document.Unquote(text))
	if err != nil {
		return 0
	}
	return r.RangeGrace - r.Now().Sub(at)
}

// needed reports whether an address in use is in a range, and in no other one.
func (r *serviceRanges) needed(ctx context.Context, view store.Reader, of *store.Entry) (bool, error) {
	own, others := rangesOf(of.Body), []netip.Prefix(nil)
	err := view.Scan(ctx, r.typ.Prefix, "", func(e *store.Entry) bool {
		if e.Key != of.Key {
			others = append(others, rangesOf(e.Body)...)
		}
		return true
	})
	covered := func(p netip.Prefix) bool {
		return slices.ContainsFunc(others, func(o netip.Prefix) bool { return o.Overlaps(p) && o.Bits() <= p.Bits() })
	}
	if own = slices.DeleteFunc(own, covered); err != nil || len(own) == 0 {
		return false, err
	}
	found := false
	err = view.Scan(ctx, r.addresses.Prefix, "", func(e *store.Entry) bool {
		a, err := netip.ParseAddr(e.Key[len(r.addresses.Prefix):])
		has := func(p netip.Prefix) bool { return allocate.Has(p, a) }
		found = err == nil && slices.ContainsFunc(own, has) && !slices.ContainsFunc(others, has) && allocated(e.Body, a)
		return !found
	})
	return found, err
}

// allocated reports whether an address has the labels of those of services.
func allocated(body []byte, a netip.Addr) bool {
	manager, _ := document.Find(body, "metadata", "labels", addressManager)
	family, _ := document.Find(body, "metadata", "labels", addressFamily)
	return document.Unquote(manager) == allocator && document.Unquote(family) == allocate.Family(a)
}

// setReadiness applies the condition of a range, unless it has it.
func (r *serviceRanges) setReadiness(ctx context.Context, name string, body []byte, want readiness) error {
	want.Type, want.Since = "Ready", r.Now().UTC().Format(time.RFC3339)
	same := false
	list, _ := document.Find(body, "status", "conditions")
	document.EachElement(list, func(text []byte) bool {
		has := want
		_ = json.Unmarshal(text, &has)
		has.Since = want.Since
		same = same || has == want
		return true
	})
	if same {
		return nil
	}
	config, err := json.Marshal(map[string]any{"apiVersion": r.typ.GV.APIVersion(), "kind": r.typ.Kind, "metadata": map[string]any{"name": name},
		"status": map[string]any{"conditions": []readiness{want}}})
	if err != nil {
		return err
	}
	return ignoreNotFound(r.Cluster.Apply(ctx, r.typ.Resource, name, "status", ServiceRanges, config))
}
