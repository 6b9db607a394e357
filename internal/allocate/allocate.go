// Package allocate assigns the addresses and ports of services, each to one owner at a
// time. The allocations are in memory only: they follow from the stored objects, and are
// rebuilt from them at the start.
package allocate

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/capstan-dev/capstan/internal/ranks"
)

// Errors of claims.
var (
	// ErrFull: every item of the range is allocated.
	ErrFull = errors.New("range is full")
	// ErrTaken: the item is allocated to another owner.
	ErrTaken = errors.New("already allocated")
	// ErrElsewhere: another server has allocated a claimed item, of which this one has not heard
	// yet. Another claim is worth a try.
	ErrElsewhere = errors.New("allocated by another server")
)

// OutsideError means that the requested item is in no range.
type OutsideError struct{ Range string }

func (e *OutsideError) Error() string { return "not in the range " + e.Range }

// Item is an address, or a port when Port is not 0.
type Item struct {
	Address netip.Addr
	Port    int
}

func (i Item) String() string {
	if i.Port != 0 {
		return fmt.Sprintf("port %d", i.Port)
	}
	return "address " + i.Address.String()
}

// Config describes the ranges.
type Config struct {
	Addresses           []netip.Prefix // one range, or one of each family; the first is the default family's
	FirstPort, LastPort int
	Reserved            map[Item]string // items reserved for the named owner
	Figures             Figures         // nil for none
}

// Range is a range of addresses, and the object that it is of.
type Range struct {
	netip.Prefix
	Source Source
	// Small has the range end after its first 65536 addresses.
	Small bool
	// Named has figures count any address of the range as one that the write named.
	Named bool
}

// Source is an object that ranges are of. Without a key there is none.
type Source struct {
	Key      string
	Revision uint64
}

// Allocator knows the holder of every item.
//
// Invariant: an item is held by one claim or by one owner. A claim takes an item under
// the lock, before the write that uses it; the write's change makes its object the owner,
// and only a change in which the object loses it, or the claim's release when nothing was
// written, frees it. So no two stored objects get the same item, whatever writes run and
// whenever the process dies: after a restart exactly the items of stored objects are
// held. This requires that one process writes the store, which the store's lock ensures, or that
// each write compares its items with those of other servers (ErrElsewhere).
type Allocator struct {
	families []string
	reserved map[Item]string
	figures  Figures // nil for none

	mu      ranks.Mutex[ranks.Derived]
	spans   map[string][]*span // by family, and portSpan
	ordered bool               // the first span of a family with a free item is used, not any
	held    map[Item]*holding
}

// holding is one held item. owner is set once a stored object has it.
type holding struct {
	claim *Claim // of the write under way; nil afterwards
	owner string
	lost  bool // Repair did not find it at its owner
	named bool // an object has the address as its name
}

// portSpan is the name of the span of the ports.
const portSpan = "ports"

// Family is the name of an address's family, as in services.
func Family(a netip.Addr) string {
	if a.Is4() {
		return "IPv4"
	}
	return "IPv6"
}

// New makes an allocator without allocations.
func New(cfg Config) *Allocator {
	a := &Allocator{spans: map[string][]*span{portSpan: {ports(cfg.FirstPort, cfg.LastPort)}}, held: map[Item]*holding{}, reserved: cfg.Reserved,
		figures: cfg.Figures}
	for _, p := range cfg.Addresses {
		family := Family(p.Addr())
		a.families = append(a.families, family)
		a.spans[family] = []*span{addresses(Range{Prefix: p, Small: true})}
	}
	return a
}

// SetRanges replaces the ranges of addresses, of which a family may have several or none, and which may overlap. With
// ordered, the first one with a free address is used.
func (a *Allocator) SetRanges(ranges []Range, ordered bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := map[string][]*span{portSpan: a.spans[portSpan]}
	for _, r := range ranges {
		s := addresses(r)
		for i := range a.held {
			if _, in := s.of(i); in {
				s.used++
			}
		}
		all[Family(r.Addr())] = append(all[Family(r.Addr())], s)
	}
	a.spans, a.ordered = all, ordered
}

// SetNamed notes whether an object has the address as its name. Such an address is not free.
func (a *Allocator) SetNamed(address netip.Addr, named bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := Item{Address: address}
	switch h := a.held[i]; {
	case h == nil && named:
		a.hold(i, &holding{named: true})
	case h != nil:
		if h.named = named; !named && h.claim == nil && h.owner == "" {
			a.free(i)
		}
	}
}

// First is the first address of a range, that of the cluster's own service.
func First(p netip.Prefix) netip.Addr { return p.Masked().Addr().Next() }

// Families are the families with a range of addresses, the default one first.
func (a *Allocator) Families() []string { return a.families }

// spansOf are the spans of the kind of an item.
func (a *Allocator) spansOf(i Item) []*span {
	if i.Port != 0 {
		return a.spans[portSpan]
	}
	return a.spans[Family(i.Address)]
}

// spanOf returns a span that an item belongs to, nil when it is in no range.
func (a *Allocator) spanOf(i Item) *span {
	for _, s := range a.spansOf(i) {
		if _, ok := s.of(i); ok {
			return s
		}
	}
	return nil
}

// count adds to the numbers of held items of all spans that have the item.
func (a *Allocator) count(i Item, by int) {
	for _, s := range a.spansOf(i) {
		if _, ok := s.of(i); ok {
			s.used += by
		}
	}
}

// hold and free update the spans' counts. The lock is held.
func (a *Allocator) hold(i Item, h *holding) {
	if was := a.held[i]; was != nil {
		h.named = h.named || was.named
	} else {
		a.count(i, 1)
	}
	a.held[i] = h
}

func (a *Allocator) free(i Item) {
	switch h := a.held[i]; {
	case h == nil:
	case h.named:
		a.held[i] = &holding{named: true}
	default:
		a.count(i, -1)
		delete(a.held, i)
	}
}

// Conflict is an item that an object should not have.
type Conflict struct {
	Item   Item
	Owner  string // the object
	Holder string // the holder of the item, "" when it is in no range
}

func (c Conflict) String() string {
	if c.Holder == "" {
		return fmt.Sprintf("%s of %s is in no range", c.Item, c.Owner)
	}
	return fmt.Sprintf("%s of %s belongs to %s", c.Item, c.Owner, c.Holder)
}

// Changed notes that the object owner had the items before, and has those after now: it
// holds the new ones, and no longer those that it lost. A deleted object has none. It
// returns the items that the object should not have; items in no range are held too, so
// that no other object gets them later.
func (a *Allocator) Changed(owner string, before, after []Item) []Conflict {
	a.mu.Lock()
	defer a.mu.Unlock()
	keeps := make(map[Item]bool, len(after))
	var all []Conflict
	for _, i := range after {
		keeps[i] = true
		h := a.held[i]
		switch {
		case h != nil && h.claim == nil && h.owner != "" && h.owner != owner:
			all = append(all, Conflict{i, owner, h.owner})
			continue
		case a.spanOf(i) == nil:
			all = append(all, Conflict{Item: i, Owner: owner})
		}
		a.hold(i, &holding{owner: owner})
	}
	for _, i := range before {
		if h := a.held[i]; !keeps[i] && h != nil && h.claim == nil && h.owner == owner {
			a.free(i)
		}
	}
	return all
}

// Repair compares the held items with those of the stored objects, owner by owner. An
// item missing at its owner in two repairs in a row is freed; these are returned, with
// all items that objects should not have. Writes may go on meanwhile.
func (a *Allocator) Repair(stored map[string][]Item) (freed, wrong []Conflict) {
	has := map[Item]map[string]bool{}
	for owner, items := range stored {
		for _, i := range items {
			if has[i] == nil {
				has[i] = map[string]bool{}
			}
			has[i][owner] = true
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for i, h := range a.held {
		switch {
		case h.claim != nil || h.owner == "" || has[i][h.owner]:
			h.lost = false
		case !h.lost:
			h.lost = true
		default:
			freed = append(freed, Conflict{Item: i, Owner: h.owner})
			a.free(i)
		}
	}
	for i, owners := range has {
		for owner := range owners {
			h := a.held[i]
			switch {
			case h != nil && h.claim == nil && h.owner != "" && h.owner != owner:
				wrong = append(wrong, Conflict{i, owner, h.owner})
			case a.spanOf(i) == nil:
				wrong = append(wrong, Conflict{Item: i, Owner: owner})
			}
		}
	}
	return freed, wrong
}
