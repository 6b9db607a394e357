package allocate

import (
	"math/rand/v2"
	"slices"
	"time"
)

// Claim is the allocation of one write. It ends with Keep or with Release. A nil Claim
// takes nothing.
//
// It is used by one goroutine.
type Claim struct {
	all    *Allocator
	dryRun bool
	taken  []Item
	made   []allocation
	from   []Source
}

// Begin starts a claim. One for a dry run holds nothing: it finds the items that a write
// would get.
func (a *Allocator) Begin(dryRun bool) *Claim { return &Claim{all: a, dryRun: dryRun} }

// Any takes any free item: an address of the family, or a port for "". Errors:
// ErrFull.
func (c *Claim) Any(family string) (Item, error) {
	a, begun := c.all, time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if family == "" {
		family = portSpan
	}
	spans := a.spans[family]
	first := 0
	if len(spans) > 1 && !a.ordered {
		first = rand.IntN(len(spans))
	}
	for k := range spans {
		s := spans[(first+k)%len(spans)]
		if i, ok := s.any(func(i Item) bool { return c.allowed(i, "") }); ok {
			by := Dynamic
			if s.named {
				by = Static
			}
			c.take(i, s, by, begun)
			return i, nil
		}
		c.failed(s, Dynamic)
	}
	return Item{}, ErrFull
}

// Take takes the given item for the object owner. Errors: ErrTaken, *OutsideError.
func (c *Claim) Take(i Item, owner string) error {
	a, begun := c.all, time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.spanOf(i)
	if s == nil {
		if all := a.spansOf(i); len(all) > 0 {
			if all[0].source.Key == "" {
				c.failed(all[0], Static)
			}
			return &OutsideError{all[0].text}
		}
		return &OutsideError{}
	}
	if !c.allowed(i, owner) {
		if !s.mirror { // else the earlier allocations refuse it first, which nobody counts
			c.failed(s, Static)
		}
		return ErrTaken
	}
	c.take(i, s, Static, begun)
	return nil
}

// allowed reports whether an item is free and not reserved for another owner. The lock is
// held.
func (c *Claim) allowed(i Item, owner string) bool {
	if kept, ok := c.all.reserved[i]; ok && kept != owner {
		return false
	}
	return c.all.held[i] == nil && !slices.Contains(c.taken, i)
}

func (c *Claim) take(i Item, of *span, by Scope, begun time.Time) {
	c.taken = append(c.taken, i)
	c.made = append(c.made, allocation{of.name(), by, time.Since(begun)})
	if of.source.Key != "" {
		c.from = append(c.from, of.source)
	}
	if !c.dryRun {
		c.all.hold(i, &holding{claim: c})
	}
}

// Sources are the objects whose ranges the items are of.
func (c *Claim) Sources() []Source {
	if c == nil {
		return nil
	}
	return c.from
}

// Keep ends the claim of a write that was made, or whose outcome is unknown: the object
// owner holds the items.
func (c *Claim) Keep(owner string) {
	c.report()
	c.end(func(i Item) { c.all.hold(i, &holding{owner: owner}) })
}

// Release ends the claim of a write that was not made.
func (c *Claim) Release() {
	c.end(func(i Item) { c.all.free(i) })
}

// end applies do to the items that the claim still holds: the write's change may have
// been announced already, and have made them its object's.
func (c *Claim) end(do func(Item)) {
	if c == nil {
		return
	}
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	for _, i := range c.taken {
		if h := c.all.held[i]; h != nil && h.claim == c {
			do(i)
		}
	}
	c.taken, c.made = nil, nil
}
