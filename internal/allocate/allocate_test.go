package allocate

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"testing"
)

func ip(s string) Item { return Item{Address: netip.MustParseAddr(s)} }
func port(n int) Item  { return Item{Port: n} }

func allocator(first, last int, ranges ...string) *Allocator {
	cfg := Config{FirstPort: first, LastPort: last}
	for _, r := range ranges {
		cfg.Addresses = append(cfg.Addresses, netip.MustParsePrefix(r))
	}
	return New(cfg)
}

func TestRanges(t *testing.T) {
	for _, c := range []struct {
		cidr        string
		size, low   uint64
		first, last string
		outside     []string
	}{
		{"10.0.0.0/24", 254, 16, "10.0.0.1", "10.0.0.254", []string{"10.0.0.0", "10.0.0.255", "10.0.1.1", "9.255.255.255", "::1"}},
		{"10.0.0.0/29", 6, 0, "10.0.0.1", "10.0.0.6", []string{"10.0.0.7", "10.0.0.8"}},
		{"10.96.0.0/12", 1<<20 - 2, 256, "10.96.0.1", "10.111.255.254", []string{"10.112.0.0", "10.111.255.255"}},
		{"255.255.240.0/20", 4094, 255, "255.255.240.1", "255.255.255.254", nil},
		{"fd00::/108", 65535, 256, "fd00::1", "fd00::ffff", []string{"fd00::", "fd00::1:0", "fd00::10:1", "10.0.0.1"}},
		{"fd00::ffff:fff0:0/112", 65535, 256, "fd00::ffff:fff0:1", "fd00::ffff:fff0:ffff", []string{"fd00::ffff:fff1:0"}},
	} {
		s := addresses(Range{Prefix: netip.MustParsePrefix(c.cidr), Small: true})
		if s.size != c.size || s.low != c.low {
			t.Errorf("%s: size %d, low %d, expected %d, %d", c.cidr, s.size, s.low, c.size, c.low)
		}
		if first, last := s.at(0), s.at(s.size-1); first != ip(c.first) || last != ip(c.last) {
			t.Errorf("%s: %s to %s, expected %s to %s", c.cidr, first, last, c.first, c.last)
		}
		for _, n := range []uint64{0, 1, s.size / 2, s.size - 1} {
			if back, ok := s.of(s.at(n)); !ok || back != n {
				t.Errorf("%s: number %d is %s, which is %d %v", c.cidr, n, s.at(n), back, ok)
			}
		}
		for _, text := range c.outside {
			if n, ok := s.of(ip(text)); ok {
				t.Errorf("%s: %s is number %d", c.cidr, text, n)
			}
		}
	}
}

func TestEverythingOnce(t *testing.T) {
	a := allocator(30000, 30004, "10.0.0.0/28", "fd00::/124")
	for family, size := range map[string]int{"IPv4": 14, "IPv6": 15, "": 5} {
		seen := map[Item]bool{}
		for n := range size {
			c := a.Begin(false)
			i, err := c.Any(family)
			if err != nil || seen[i] {
				t.Fatalf("%q number %d: %s %v, seen %v", family, n, i, err, seen[i])
			}
			seen[i] = true
			c.Keep(fmt.Sprint(family, n))
		}
		if i, err := a.Begin(false).Any(family); !errors.Is(err, ErrFull) {
			t.Errorf("%q has one too many: %s %v", family, i, err)
		}
		if i, err := a.Begin(true).Any(family); !errors.Is(err, ErrFull) {
			t.Errorf("%q has one too many for a dry run: %s %v", family, i, err)
		}
	}
}

func TestBeginningOfTheRangeIsLeft(t *testing.T) {
	a := allocator(1, 1, "10.0.0.0/24")
	low := map[Item]bool{}
	for n := range 16 {
		low[a.spans["IPv4"][0].at(uint64(n))] = true
	}
	for n := range 254 {
		c := a.Begin(false)
		i, err := c.Any("IPv4")
		if err != nil || low[i] != (n >= 254-16) {
			t.Fatalf("number %d is %s %v", n, i, err)
		}
		c.Keep("x")
	}
}

func TestTake(t *testing.T) {
	a := New(Config{Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}, FirstPort: 30000, LastPort: 30010,
		Reserved: map[Item]string{ip("10.0.0.1"): "mine"}})
	take := func(i Item, owner string) error {
		c := a.Begin(false)
		err := c.Take(i, owner)
		c.Keep(owner)
		return err
	}
	var outside *OutsideError
	for _, c := range []struct {
		item  Item
		owner string
		want  error
	}{
		{ip("10.0.0.1"), "other", ErrTaken},
		{ip("10.0.0.1"), "mine", nil},
		{ip("10.0.0.1"), "mine", ErrTaken},
		{ip("10.0.0.9"), "a", nil},
		{ip("10.0.0.9"), "b", ErrTaken},
		{port(30000), "a", nil},
		{port(30000), "a", ErrTaken},
	} {
		if err := take(c.item, c.owner); !errors.Is(err, c.want) {
			t.Errorf("%s for %s: %v, expected %v", c.item, c.owner, err, c.want)
		}
	}
	for _, c := range []struct {
		item Item
		text string
	}{{ip("10.0.1.1"), "10.0.0.0/24"}, {port(29999), "30000-30010"}, {ip("fd00::1"), ""}} {
		if err := take(c.item, "a"); !errors.As(err, &outside) || outside.Range != c.text {
			t.Errorf("%s: %v", c.item, err)
		}
	}
	if err := a.Begin(true).Take(port(30001), "a"); err != nil {
		t.Error(err)
	}
	if err := take(port(30001), "b"); err != nil {
		t.Errorf("a dry run holds: %v", err)
	}
	a.Changed("mine", []Item{ip("10.0.0.1")}, nil)
	if err := take(ip("10.0.0.1"), "other"); !errors.Is(err, ErrTaken) {
		t.Errorf("what is reserved is not, once it was free: %v", err)
	}
	if err := take(ip("10.0.0.1"), "mine"); err != nil {
		t.Error(err)
	}
}

// The end of a claim, whether its end or its change comes first.
func TestEndsOfClaims(t *testing.T) {
	x := port(30000)
	free := func(a *Allocator) bool { return a.Begin(true).Take(x, "z") == nil }
	begin := func() (*Allocator, *Claim) {
		a := allocator(30000, 30001)
		c := a.Begin(false)
		if err := c.Take(x, "a"); err != nil {
			t.Fatal(err)
		}
		return a, c
	}
	a, c := begin()
	c.Release()
	if !free(a) {
		t.Error("not free after a release")
	}
	a, c = begin()
	a.Changed("a", nil, []Item{x})
	c.Keep("a")
	if free(a) {
		t.Error("free after its write")
	}
	a.Changed("a", []Item{x}, nil)
	if !free(a) {
		t.Error("not free after the deletion")
	}
	a, c = begin()
	a.Changed("a", nil, []Item{x})
	a.Changed("a", []Item{x}, nil)
	other := a.Begin(false)
	if err := other.Take(x, "b"); err != nil {
		t.Error(err)
	}
	c.Keep("a") // late
	other.Keep("b")
	a.Changed("a", []Item{x}, nil)
	if free(a) {
		t.Error("a late end of a claim took the item of another")
	}
	a, c = begin()
	c.Keep("a")
	if wrong := a.Changed("b", nil, []Item{x}); len(wrong) != 1 || wrong[0].Holder != "a" {
		t.Errorf("two have it, and nobody is told: %v", wrong)
	}
	a.Changed("b", []Item{x}, nil)
	if free(a) {
		t.Error("the second who had it took it away from the first")
	}
	if wrong := a.Changed("b", nil, []Item{port(5)}); len(wrong) != 1 || wrong[0].Holder != "" {
		t.Errorf("a port outside the range: %v", wrong)
	}
	var none *Claim
	none.Keep("a")
	none.Release()
}

func TestRepair(t *testing.T) {
	a := allocator(30000, 30009)
	a.Changed("a", nil, []Item{port(30001), port(30002)})
	a.Changed("b", nil, []Item{port(30003)})
	writing := a.Begin(false)
	if err := writing.Take(port(30004), "c"); err != nil {
		t.Fatal(err)
	}
	stored := map[string][]Item{"a": {port(30001)}, "b": {port(30003), port(30001), port(7)}}
	if freed, wrong := a.Repair(stored); len(freed) != 0 || len(wrong) != 2 {
		t.Errorf("first: freed %v, wrong %v", freed, wrong)
	}
	freed, wrong := a.Repair(stored)
	if len(freed) != 1 || freed[0].Item != port(30002) || len(wrong) != 2 {
		t.Errorf("second: freed %v, wrong %v", freed, wrong)
	}
	for n, want := range map[int]error{30001: ErrTaken, 30002: nil, 30003: ErrTaken, 30004: ErrTaken} {
		if err := a.Begin(true).Take(port(n), "z"); !errors.Is(err, want) {
			t.Errorf("%d: %v, expected %v", n, err, want)
		}
	}
	writing.Release()
	if a.spans[portSpan][0].used != 2 {
		t.Errorf("%d are counted, 2 are held", a.spans[portSpan][0].used)
	}
}

// Writers that create, fail and delete at the same time never have the same item
// twice.
func TestConcurrentClaims(t *testing.T) {
	a := allocator(30000, 30019)
	var mu sync.Mutex
	stored := map[Item]string{}
	var writers sync.WaitGroup
	for w := range 8 {
		writers.Go(func() {
			for n := range 2000 {
				owner := fmt.Sprint(w, "/", n)
				c := a.Begin(false)
				i, err := c.Any("")
				if err != nil {
					c.Release()
					continue
				}
				if n%3 == 0 {
					c.Release()
					continue
				}
				mu.Lock()
				if who, ok := stored[i]; ok {
					t.Errorf("%s of %s went to %s", i, who, owner)
				}
				stored[i] = owner
				mu.Unlock()
				a.Changed(owner, nil, []Item{i})
				c.Keep(owner)
				mu.Lock()
				delete(stored, i)
				mu.Unlock()
				a.Changed(owner, []Item{i}, nil)
			}
		})
	}
	writers.Wait()
	if n := a.spans[portSpan][0].used; n != 0 || len(a.held) != 0 {
		t.Errorf("%d are counted and %d held, although all is deleted", n, len(a.held))
	}
}
