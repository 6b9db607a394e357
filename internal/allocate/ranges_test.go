package allocate

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"
)

func TestWideRanges(t *testing.T) {
	for _, c := range []struct {
		cidr        string
		size        uint64
		first, last string
	}{
		{"10.0.0.0/31", 0, "", ""},
		{"10.0.0.0/32", 0, "", ""},
		{"0.0.0.0/0", 1<<32 - 2, "0.0.0.1", "255.255.255.254"},
		{"fd00::/64", math.MaxUint64, "fd00::1", "fd00::ffff:ffff:ffff:ffff"},
		{"fd00::/127", 1, "fd00::1", "fd00::1"},
		{"fd00::/128", 0, "", ""},
		{"fd00:0:0:1::/65", 1<<63 - 1, "fd00:0:0:1::1", "fd00:0:0:1:7fff:ffff:ffff:ffff"},
	} {
		s := addresses(Range{Prefix: netip.MustParsePrefix(c.cidr)})
		if s.size != c.size {
			t.Errorf("%s: size %d, expected %d", c.cidr, s.size, c.size)
		}
		i, ok := s.any(func(Item) bool { return true })
		if ok != (c.size > 0) {
			t.Errorf("%s: any is %s %v", c.cidr, i, ok)
		}
		if !ok {
			continue
		}
		if first, last := s.at(0), s.at(s.size-1); first != ip(c.first) || last != ip(c.last) {
			t.Errorf("%s: %s to %s, expected %s to %s", c.cidr, first, last, c.first, c.last)
		}
		if n, in := s.of(i); !in || s.at(n) != i {
			t.Errorf("%s: %s is number %d %v", c.cidr, i, n, in)
		}
		if network := netip.MustParsePrefix(c.cidr); Has(network, network.Addr()) || !Has(network, s.at(s.size-1).Address) {
			t.Errorf("%s has its own address, or has not its last", c.cidr)
		}
	}
}

// The ranges come and go, overlap, and have objects; a claim knows which one it used.
func TestRangesOfObjects(t *testing.T) {
	a := allocator(1, 1, "10.0.0.0/30")
	of := func(cidr, key string) Range {
		return Range{Prefix: netip.MustParsePrefix(cidr), Source: Source{key, 7}}
	}
	a.SetRanges([]Range{of("10.0.0.0/30", "a"), of("10.1.0.0/29", "b")}, true)
	take := func(want string, source string) {
		t.Helper()
		c := a.Begin(false)
		i, err := c.Any("IPv4")
		if err != nil || !slices.Equal(c.Sources(), []Source{{source, 7}}) || !netip.MustParsePrefix(want).Contains(i.Address) {
			t.Errorf("%s %v of %v, expected one of %s", i, err, c.Sources(), want)
		}
		c.Keep(i.String())
	}
	take("10.0.0.0/30", "a")
	take("10.0.0.0/30", "a")
	take("10.1.0.0/29", "b")
	a.SetRanges([]Range{of("10.1.0.0/30", "c"), of("10.1.0.0/29", "b")}, true)
	var outside *OutsideError
	if err := a.Begin(true).Take(ip("10.0.0.1"), "x"); !errors.As(err, &outside) {
		t.Errorf("an address of a range that has gone: %v", err)
	}
	a.SetRanges(nil, false)
	if i, err := a.Begin(true).Any("IPv4"); !errors.Is(err, ErrFull) {
		t.Errorf("an address of no range: %s %v", i, err)
	}
	if _, err := a.Begin(true).Any(""); err != nil {
		t.Errorf("ports: %v", err)
	}
}

// An address that an object has as its name is not free, whatever happens to its owner.
func TestNamedAddresses(t *testing.T) {
	a, x := allocator(1, 1, "10.0.0.0/24"), ip("10.0.0.9")
	free := func() bool { return a.Begin(true).Take(x, "z") == nil }
	for _, c := range []struct {
		do   func()
		free bool
	}{
		{func() { a.SetNamed(x.Address, true) }, false},
		{func() { a.Changed("s", nil, []Item{x}) }, false},
		{func() { a.SetNamed(x.Address, false) }, false}, // the service still has it
		{func() { a.SetNamed(x.Address, true) }, false},
		{func() { a.Changed("s", []Item{x}, nil) }, false}, // the object is still there
		{func() { a.Repair(nil); a.Repair(nil) }, false},
		{func() { a.SetNamed(x.Address, false) }, true},
		{func() { a.SetNamed(x.Address, false) }, true},
	} {
		if c.do(); free() != c.free {
			t.Errorf("free is %v, expected %v: %+v", free(), c.free, a.held[x])
		}
	}
}

// The numbers of held addresses follow random claims, changes, names and ranges.
func TestCountsOfRanges(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	a := allocator(1, 1, "10.0.0.0/28")
	ranges := []string{"10.0.0.0/28", "10.0.0.0/29", "10.0.0.8/29", "10.0.1.0/29"}
	owned, named := map[string]Item{}, map[netip.Addr]bool{}
	for step := range 4000 {
		n := random.IntN(20)
		owner := fmt.Sprint("s", n)
		switch random.IntN(5) {
		case 0:
			c := a.Begin(false)
			i, err := c.Any("IPv4")
			if err == nil && named[i.Address] {
				t.Fatalf("%s has an object", i)
			}
			for other, has := range owned {
				if err == nil && has == i {
					t.Fatalf("%s is of %s", i, other)
				}
			}
			if _, has := owned[owner]; err != nil || has || n%4 == 0 {
				c.Release()
				continue
			}
			c.Keep(owner)
			a.Changed(owner, nil, []Item{i})
			owned[owner] = i
		case 1:
			if i, has := owned[owner]; has {
				a.Changed(owner, []Item{i}, nil)
				delete(owned, owner)
			}
		case 2, 3:
			address := netip.AddrFrom4([4]byte{10, 0, byte(n % 2), byte(n)})
			if named[address] = !named[address]; !named[address] {
				delete(named, address)
			}
			a.SetNamed(address, named[address])
		default:
			var some []Range
			for _, text := range ranges {
				if random.IntN(2) == 0 {
					some = append(some, Range{Prefix: netip.MustParsePrefix(text)})
				}
			}
			a.SetRanges(some, n%2 == 0)
		}
		for _, s := range a.spans["IPv4"] {
			used := map[Item]bool{}
			for _, i := range owned {
				_, used[i] = s.of(i)
			}
			for address := range named {
				i := Item{Address: address}
				_, used[i] = s.of(i)
			}
			want := 0
			for _, in := range used {
				if in {
					want++
				}
			}
			if s.used != want {
				t.Fatalf("step %d: %s counts %d, %d are in use", step, s.text, s.used, want)
			}
		}
	}
}
