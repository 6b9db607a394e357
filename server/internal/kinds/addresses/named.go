package addresses

import (
	"context"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/allocate"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/live"
)

// Kinds are the kinds of objects by which later releases allocate addresses.
type Kinds struct {
	Range   *catalog.Row // ServiceCIDR
	Address *catalog.Row // IPAddress: an address in use, by its name
	// DualWrites has the allocations of the configured ranges kept too, and these ranges used first.
	DualWrites bool
	// Since reports whether the release of the built-in kinds is a named one or a later one.
	Since func(release string) bool
}

// named follows the objects of ranges and addresses for an allocator. Without any range, that of the first
// start, the allocator has the configured ones.
type named struct {
	*live.Collection[*network]
	kinds      *Kinds
	configured []netip.Prefix
	all        *allocate.Allocator
}

// network is an object that is a range, or an address.
type network struct {
	ranges   []netip.Prefix
	usable   bool // for new addresses
	revision uint64
	address  netip.Addr
}

func openNamed(ctx context.Context, kinds *Kinds, cfg *Config, all *allocate.Allocator, s store.Store, log *slog.Logger) (*named, error) {
	n := &named{kinds: kinds, all: all}
	var err error
	if n.configured, err = Ranges(cfg.ServiceClusterIPRange); err != nil {
		return nil, err
	}
	n.Collection, err = live.Open(ctx, live.Config[*network]{Store: s, Prefixes: []string{kinds.Range.Prefix(""), kinds.Address.Prefix("")},
		Decode: n.read, Logger: log})
	if err != nil {
		return nil, err
	}
	live.Derive(n.Collection, n.follow)
	return n, nil
}

func (n *named) close() {
	if n != nil {
		n.Close()
	}
}

// read reads a stored object.
func (n *named) read(e *store.Entry) (*network, error) {
	if name, is := strings.CutPrefix(e.Key, n.kinds.Address.Prefix("")); is {
		address, err := netip.ParseAddr(name)
		return &network{address: address}, err
	}
	return &network{ranges: RangesOf(e.Body), usable: usable(e.Body), revision: e.Revision}, nil
}

// RangesOf are the ranges of a stored object.
func RangesOf(body []byte) []netip.Prefix {
	return allocate.Prefixes(document.FindTexts(body, "spec", "cidrs"))
}

// usable reports whether new addresses may come from a range: it is not being deleted, and nobody has said
// that it is not ready.
func usable(body []byte) bool {
	_, ends := document.Find(body, "metadata", "deletionTimestamp")
	status, _, _ := Readiness(body)
	return !ends && (status == "" || status == "True")
}

// Readiness is the condition of a range that says whether it is ready; "" where it has none.
func Readiness(body []byte) (status, reason, message string) {
	list, _ := document.Find(body, "status", "conditions")
	document.EachElement(list, func(condition []byte) bool {
		text := func(member string) string {
			value, _ := document.Find(condition, member)
			return document.Unquote(value)
		}
		if text("type") != "Ready" {
			return true
		}
		status, reason, message = text("status"), text("reason"), text("message")
		return false
	})
	return status, reason, message
}

// follow passes changes to the allocator, which guards itself. The index is the ranges by their keys.
func (n *named) follow(ranges map[string]*network, changes []live.Change[*network]) map[string]*network {
	var next map[string]*network
	for _, c := range changes {
		if strings.HasPrefix(c.Key, n.kinds.Range.Prefix("")) {
			if next == nil {
				next = make(map[string]*network)
				maps.Copy(next, ranges)
			}
			if next[c.Key] = c.After; c.After == nil {
				delete(next, c.Key)
			}
			continue
		}
		if c.Before != nil {
			n.all.SetNamed(c.Before.address, false)
		}
		if c.After != nil {
			n.all.SetNamed(c.After.address, true)
		}
	}
	if next == nil {
		return ranges
	}
	n.all.SetRanges(n.rangesFor(next), n.kinds.DualWrites)
	return next
}

// shortestRange is the least number of bits of an IPv6 range that addresses are allocated from, as in kube-apiserver.
const shortestRange = 64

// rangesFor are the ranges for new addresses: with dual writes first the configured ones, which are then small.
func (n *named) rangesFor(objects map[string]*network) (all []allocate.Range) {
	for _, key := range slices.Sorted(maps.Keys(objects)) {
		of := objects[key]
		for _, p := range of.ranges {
			if !of.usable || p.Addr().Is6() && p.Bits() < shortestRange {
				continue
			}
			// From 1.33 on an address is found by the earlier allocations, and then named.
			earlier := n.kinds.DualWrites && slices.Contains(n.configured, p.Masked())
			all = append(all, allocate.Range{Prefix: p, Source: allocate.Source{Key: key, Revision: of.revision},
				Small: earlier, Named: earlier && n.kinds.Since("1.33")})
		}
	}
	if n.kinds.DualWrites {
		slices.SortStableFunc(all, func(a, b allocate.Range) int {
			switch first := slices.Contains(n.configured, a.Masked()); {
			case first == slices.Contains(n.configured, b.Masked()):
				return 0
			case first:
				return -1
			}
			return 1
		})
	}
	return all
}

// noAddress begins the message about a service for which no address is free.
func (n *named) noAddress(service string) string {
	if n == nil || !n.kinds.Since("1.36") {
		return "failed to allocate a serviceIP: "
	}
	return "failed to allocate a serviceIP for Service \"" + service[strings.LastIndexByte(service, '/')+1:] + "\": "
}
