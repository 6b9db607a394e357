package document

import (
	"slices"

	"github.com/capstan-dev/capstan/internal/schema"
)

// any reads a value without a type.
func (p *parser) any(n int32) error {
	if err := p.token(n); err != nil {
		return err
	}
	switch p.d.nodes[n].kind {
	case Number:
		if p.table != nil && p.table.Custom {
			return p.number(n)
		}
	case Array:
		return p.list(n, schema.None, Value{})
	case Object:
		return p.anyObject(n)
	}
	return nil
}

func (p *parser) anyObject(n int32) error {
	if err := p.enter(); err != nil {
		return err
	}
	d := p.d
	start, dirt := p.pos, d.dirt
	p.pos++
	done := p.next() == '}'
	if done {
		p.pos++
	}
	count, sorted := 0, true
	for !done {
		m, err := p.keyed(n, schema.None)
		if err != nil {
			return err
		}
		if before := d.nodes[n].last; before != 0 && sorted {
			sorted = d.compareKeys(&d.nodes[before], &d.nodes[m]) < 0
		}
		d.link(m)
		count++
		if err := p.any(m); err != nil {
			return err
		}
		if done, err = p.comma('}'); err != nil {
			return err
		}
	}
	switch {
	case sorted:
	case p.table != nil && p.table.Custom:
		p.sortMembers(n)
	default:
		p.dropRepeated(n, count)
	}
	p.finish(n, start, dirt)
	p.leave()
	return nil
}

// few is the number of members up to which every pair is compared.
const few = 16

// dropRepeated finds members with the same name. The last value replaces the first.
func (p *parser) dropRepeated(n int32, count int) {
	d := p.d
	if count <= few && !d.hasRepeated(n) {
		return
	}
	order := d.byKey(n)
	repeated := false
	for i := 1; i < len(order); i++ {
		a, b := order[i-1], order[i]
		if d.compareKeys(&d.nodes[a], &d.nodes[b]) != 0 {
			continue
		}
		if !repeated {
			repeated = true
		}
		p.duplicate(b)
		p.replace(a, b)
		order[i] = a
		d.nodes[b].kind = Absent // below, leaves are made absent
	}
	if !repeated {
		return
	}
	prev := int32(0)
	for c := d.nodes[n].first; c != 0; c = d.nodes[c].next {
		if d.nodes[c].kind == Absent {
			d.unlink(prev, c)
			continue
		}
		prev = c
	}
}

// replace gives a the value of b.
func (p *parser) replace(a, b int32) {
	d := p.d
	next, parent := d.nodes[a].next, d.nodes[a].parent
	d.nodes[a] = d.nodes[b]
	d.nodes[a].next, d.nodes[a].parent = next, parent
	for c := d.nodes[a].first; c != 0; c = d.nodes[c].next {
		d.nodes[c].parent = a
	}
}

func (d *Document) hasRepeated(n int32) bool {
	for a := d.nodes[n].first; a != 0; a = d.nodes[a].next {
		for b := d.nodes[a].next; b != 0; b = d.nodes[b].next {
			if d.compareKeys(&d.nodes[a], &d.nodes[b]) == 0 {
				return true
			}
		}
	}
	return false
}

// byKey returns the members ordered by key, members with the same key in their order. The
// result is valid until the next call.
func (d *Document) byKey(n int32) []int32 {
	order := d.sort[:0]
	for c := d.nodes[n].first; c != 0; c = d.nodes[c].next {
		order = append(order, c)
	}
	d.sort = order
	slices.SortStableFunc(order, func(a, b int32) int { return d.compareKeys(&d.nodes[a], &d.nodes[b]) })
	return order
}

// sortMembers sorts the members of a map; of members with the same name it keeps the
// last.
func (p *parser) sortMembers(n int32) {
	d := p.d
	d.dirt++
	order := d.byKey(n)
	nd := &d.nodes[n]
	nd.first, nd.last = 0, 0
	for i, m := range order {
		if i+1 < len(order) && d.compareKeys(&d.nodes[m], &d.nodes[order[i+1]]) == 0 {
			p.duplicate(m)
			continue
		}
		d.nodes[m].next = 0
		d.link(m)
	}
}
