package allocate

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
)

// span is a range of numbers, 0 to size-1, with the items that they stand for.
type span struct {
	text string // the range as users write it
	size int
	low  int // numbers below it are taken last
	used int // number of held items
	at   func(n int) Item
	of   func(i Item) (n int, ok bool)
}

// any picks a free number at random, first among those from low on. It reports false when
// none is free.
func (s *span) any(free func(Item) bool) (Item, bool) {
	if s.used >= s.size {
		return Item{}, false
	}
	for _, part := range [2][2]int{{s.low, s.size}, {0, s.low}} {
		from, width := part[0], part[1]-part[0]
		if width == 0 {
			continue
		}
		first := rand.IntN(width)
		for k := range width {
			if i := s.at(from + (first+k)%width); free(i) {
				return i, true
			}
		}
	}
	return Item{}, false
}

// maxAddresses bounds the number of addresses of a range.
const maxAddresses = 1 << 16

// MaxHostBits bounds the ranges of addresses.
const MaxHostBits = 20

// addresses is the span of a CIDR: its addresses without the network's own and, for IPv4,
// the broadcast address; of an IPv6 range the first 65536.
func addresses(p netip.Prefix) *span {
	size := 1 << min(p.Addr().BitLen()-p.Bits(), MaxHostBits)
	if p.Addr().Is4() {
		size -= 2
	} else {
		size = min(size, maxAddresses) - 1
	}
	p = p.Masked()
	s := &span{text: p.String(), size: size, low: staticBand(size)}
	s.at = func(n int) Item { return Item{Address: add(p.Addr(), n+1)} }
	s.of = func(i Item) (int, bool) {
		if i.Port != 0 || !p.Contains(i.Address) {
			return 0, false
		}
		n := int(end(i.Address)-end(p.Addr())) - 1
		return n, n >= 0 && n < size
	}
	return s
}

// end is the number in the last four bytes of an address, which differs for all addresses
// of a range.
func end(a netip.Addr) uint32 {
	b := a.AsSlice()
	return binary.BigEndian.Uint32(b[len(b)-4:])
}

// add is the address n after a.
func add(a netip.Addr, n int) netip.Addr {
	b := a.AsSlice()
	binary.BigEndian.PutUint32(b[len(b)-4:], end(a)+uint32(n))
	sum, _ := netip.AddrFromSlice(b) // the length is right
	return sum
}

// staticBand is the number of addresses at the beginning of a range that are preferably
// left to services that name their address: a sixteenth, at least 16 and at most 256;
// none of a small range.
func staticBand(size int) int {
	if size <= 16 {
		return 0
	}
	return min(max(size/16, 16), 256)
}

// ports is the span of a range of ports.
func ports(first, last int) *span {
	s := &span{text: fmt.Sprintf("%d-%d", first, last), size: last - first + 1}
	s.at = func(n int) Item { return Item{Port: first + n} }
	s.of = func(i Item) (int, bool) { return i.Port - first, i.Port >= first && i.Port <= last }
	return s
}

// Span is a range of items, as others see it.
type Span struct{ of *span }

// Span is the range of a family, or of the ports for "".
func (a *Allocator) Span(family string) Span {
	if family == "" {
		family = portSpan
	}
	return Span{a.spans[family]}
}

// Range is the range as users write it.
func (s Span) Range() string { return s.of.text }

// Size is the number of items.
func (s Span) Size() int { return s.of.size }

// Item is the item with a number from 0 on.
func (s Span) Item(n int) Item { return s.of.at(n) }

// Number is the number of an item; in is false for one that is not in the range.
func (s Span) Number(i Item) (n int, in bool) { return s.of.of(i) }
