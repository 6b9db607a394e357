package allocate

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
)

// span is a range of numbers, 0 to size-1, with the items that they stand for.
type span struct {
	text   string // the range as users write it
	ports  bool
	named  bool // see Range
	mirror bool // of a range of an object that also has earlier allocations
	size   uint64
	low    uint64 // numbers below it are taken last
	used   int    // number of held items
	at     func(n uint64) Item
	of     func(i Item) (n uint64, ok bool)
	source Source
}

// name is the name of the span in figures.
func (s *span) name() string {
	if s.ports {
		return ""
	}
	return s.text
}

// any picks a free number at random, first among those from low on. It reports false when
// none is free.
func (s *span) any(free func(Item) bool) (Item, bool) {
	if uint64(s.used) >= s.size {
		return Item{}, false
	}
	for _, part := range [2][2]uint64{{s.low, s.size}, {0, s.low}} {
		from, width := part[0], part[1]-part[0]
		if width == 0 {
			continue
		}
		first := rand.Uint64N(width)
		for k := range width {
			n := first + k
			if n < first || n >= width { // past the end, or past the largest number
				n -= width
			}
			if i := s.at(from + n); free(i) {
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

// maxRangeBits bounds the ranges of objects: the number of an address has so many bits.
const maxRangeBits = 64

// addresses is the span of a range: its addresses without the network's own and, for IPv4,
// the broadcast address; of a small IPv6 range the first 65536.
func addresses(r Range) *span {
	bits := r.Addr().BitLen() - r.Bits()
	size := uint64(math.MaxUint64)
	if bits < maxRangeBits {
		size = 1<<bits - 1
	}
	switch {
	case r.Addr().Is4():
		size = max(size, 1) - 1
	case r.Small:
		size = min(size, maxAddresses-1)
	}
	p := r.Masked()
	s := &span{text: p.String(), size: size, low: staticBand(size), source: r.Source, named: r.Named, mirror: r.Small && r.Source.Key != ""}
	s.at = func(n uint64) Item { return Item{Address: add(p.Addr(), n+1)} }
	s.of = func(i Item) (uint64, bool) {
		if i.Port != 0 || !p.Contains(i.Address) {
			return 0, false
		}
		n := end(i.Address) - end(p.Addr()) - 1
		return n, n < size // that of the network's own address is the largest number
	}
	return s
}

// Prefixes parses ranges; texts that are none are left out.
func Prefixes(texts []string) (all []netip.Prefix) {
	for _, text := range texts {
		if p, err := netip.ParsePrefix(text); err == nil {
			all = append(all, p)
		}
	}
	return all
}

// Has reports whether a service may have an address of a range: not the network's own, nor the broadcast address of IPv4.
func Has(p netip.Prefix, a netip.Addr) bool {
	_, in := addresses(Range{Prefix: p}).of(Item{Address: a})
	return in
}

// end is the number in the last eight bytes of an address, or in all of it, which differs for all addresses
// of a range.
func end(a netip.Addr) uint64 {
	if a.Is4() {
		b := a.As4()
		return uint64(binary.BigEndian.Uint32(b[:]))
	}
	b := a.As16()
	return binary.BigEndian.Uint64(b[8:])
}

// add is the address n after a, in the range of a.
func add(a netip.Addr, n uint64) netip.Addr {
	if a.Is4() {
		b := a.As4()
		binary.BigEndian.PutUint32(b[:], uint32(end(a)+n))
		return netip.AddrFrom4(b)
	}
	b := a.As16()
	binary.BigEndian.PutUint64(b[8:], end(a)+n)
	return netip.AddrFrom16(b)
}

// staticBand is the number of addresses at the beginning of a range that are preferably
// left to services that name their address: a sixteenth, at least 16 and at most 256;
// none of a small range.
func staticBand(size uint64) uint64 {
	if size <= 16 {
		return 0
	}
	return min(max(size/16, 16), 256)
}

// ports is the span of a range of ports.
func ports(first, last int) *span {
	s := &span{ports: true, text: fmt.Sprintf("%d-%d", first, last), size: uint64(last - first + 1)}
	s.at = func(n uint64) Item { return Item{Port: first + int(n)} }
	s.of = func(i Item) (uint64, bool) { return uint64(i.Port - first), i.Port >= first && i.Port <= last }
	return s
}

// Span is a range of items, as others see it.
type Span struct{ of *span }

// Span is the first range of a family, or that of the ports for "".
func (a *Allocator) Span(family string) Span {
	if family == "" {
		family = portSpan
	}
	return Span{a.spans[family][0]}
}

// Range is the range as users write it.
func (s Span) Range() string { return s.of.text }

// Size is the number of items.
func (s Span) Size() int { return int(s.of.size) }

// Item is the item with a number from 0 on.
func (s Span) Item(n int) Item { return s.of.at(uint64(n)) }

// Number is the number of an item; in is false for one that is not in the range.
func (s Span) Number(i Item) (n int, in bool) {
	number, in := s.of.of(i)
	return int(number), in
}
