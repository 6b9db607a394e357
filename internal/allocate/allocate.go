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

	mu    ranks.Mutex[ranks.Derived]
	spans map[string]*span // by family, and portSpan
	held  map[Item]*holding
}

// holding is one held item. owner is set once a stored object has it.
type holding struct {
	claim *Claim // of the write under way; nil afterwards
	owner string
	lost  bool // Repair did not find it at its owner
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
	a := &Allocator{spans: map[string]*span{portSpan: ports(cfg.FirstPort, cfg.LastPort)}, held: map[Item]*holding{}, reserved: cfg.Reserved}
	for _, p := range cfg.Addresses {
		family := Family(p.Addr())
		a.families = append(a.families, family)
		a.spans[family] = addresses(p)
	}
	return a
}

// First is the first address of a range, that of the cluster's own service.
func First(p netip.Prefix) netip.Addr { return p.Masked().Addr().Next() }

// Families are the families with a range of addresses, the default one first.
func (a *Allocator) Families() []string { return a.families }

// spanOf returns the span that an item belongs to, nil when it is in no range.
func (a *Allocator) spanOf(i Item) *span {
	name := portSpan
	if i.Port == 0 {
		name = Family(i.Address)
	}
	s := a.spans[name]
	if s == nil {
		return nil
	}
	if _, ok := s.of(i); !ok {
		return nil
	}
	return s
}

// hold and free update the spans' counts. The lock is held.
func (a *Allocator) hold(i Item, h *holding) {
	if _, was := a.held[i]; !was {
		if s := a.spanOf(i); s != nil {
			s.used++
		}
	}
	a.held[i] = h
}

func (a *Allocator) free(i Item) {
	if _, was := a.held[i]; was {
		if s := a.spanOf(i); s != nil {
			s.used--
		}
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
		case h != nil && h.claim == nil && h.owner != owner:
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
		case h.claim != nil || has[i][h.owner]:
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
			case h != nil && h.claim == nil && h.owner != owner:
				wrong = append(wrong, Conflict{i, owner, h.owner})
			case a.spanOf(i) == nil:
				wrong = append(wrong, Conflict{Item: i, Owner: owner})
			}
		}
	}
	return freed, wrong
}
