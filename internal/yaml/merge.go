package yaml

import "slices"

// merge writes the members of the mapping, the alias or the list of these after <<. The
// first of a list takes precedence, so it is written last.
func (c *converter) merge(block bool) error {
	t, err := c.s.peek()
	if err != nil {
		return err
	}
	if t.kind == alias {
		return c.mergeAlias(t)
	}
	p, t, err := c.properties(t)
	if err != nil {
		return err
	}
	start := len(c.out)
	if p.hasAnchor {
		if err := c.begin(p.anchor); err != nil {
			return err
		}
	}
	switch {
	case t.kind == flowMapping, t.kind == blockMapping && block:
		if err = c.mapping(t); err == nil && p.hasAnchor {
			err = c.keepMembers(p.anchor, start)
		}
	case p.hasAnchor && (t.kind == flowSequence || t.kind == blockSequence || t.kind == blockEntry):
		return c.fail(t, "a list behind << cannot have an anchor, define it elsewhere")
	case t.kind == flowSequence, block && (t.kind == blockSequence || t.kind == blockEntry):
		return c.mergeList(t, start)
	default:
		return c.fail(t, "<< needs a mapping")
	}
	return err
}

// maxMergeLists bounds the nesting of lists after <<, since each moves its content.
const maxMergeLists = 4

// mergeList writes the members of the mappings in a list that begins with t.
func (c *converter) mergeList(t *token, start int) error {
	if c.lists == maxMergeLists {
		return &LimitError{"lists behind << in each other", maxMergeLists}
	}
	c.lists++
	k := t.kind
	err := c.nested(func() error {
		if k == flowSequence {
			return c.mergeFlow(start)
		}
		return c.mergeBlock(start, k == blockSequence)
	})
	c.lists--
	return err
}

// keepMembers notes the object whose members were written from start on as the value of
// an anchor.
func (c *converter) keepMembers(name string, start int) error {
	return c.keep(name, slices.Concat([]byte("{"), c.out[start:], []byte("}")), isCollection)
}

// mergeAlias writes the members of an alias for a mapping.
func (c *converter) mergeAlias(t *token) error {
	a, err := c.find(t)
	if err != nil {
		return err
	}
	if a.json[0] != '{' {
		return c.fail(t, "<< needs a mapping")
	}
	c.out = append(c.out, a.json[1:len(a.json)-1]...)
	c.repeats.noteAll(a.keys)
	c.s.queue.take()
	return nil
}

// mergeFlow writes the members of the mappings in a list in brackets.
func (c *converter) mergeFlow(start int) error {
	t, err := c.take()
	if err != nil {
		return err
	}
	var ends []int
	for first := true; t.kind != flowSequenceEnd; first = false {
		if !first {
			if t.kind != flowEntry {
				return c.fail(t, "a comma or ] is missing in the list")
			}
			if t, err = c.take(); err != nil {
				return err
			}
			if t.kind == flowSequenceEnd {
				break
			}
		}
		if t.kind == keyMark {
			_, err = c.take()
			if err == nil {
				m := c.beginMembers()
				err = c.nested(func() error { return c.member(&m, flowSequenceEnd) })
			}
		} else {
			err = c.mergeOne(false)
		}
		if err != nil {
			return err
		}
		ends = append(ends, len(c.out))
		if t, err = c.s.peek(); err != nil {
			return err
		}
	}
	c.s.queue.take()
	c.reverse(start, ends)
	return nil
}

// mergeBlock is mergeFlow for a list of lines; ended means that it has an end token of
// its own.
func (c *converter) mergeBlock(start int, ended bool) error {
	t, err := c.s.peek()
	if ended {
		t, err = c.take()
	}
	var ends []int
	for err == nil && t.kind == blockEntry {
		if _, err = c.take(); err != nil {
			return err
		}
		if err = c.mergeOne(true); err != nil {
			return err
		}
		ends = append(ends, len(c.out))
		t, err = c.s.peek()
	}
	if err != nil {
		return err
	}
	if ended {
		if t.kind != blockEnd {
			return c.fail(t, "the list goes on with a - in the same column, or ends")
		}
		c.s.queue.take()
	}
	c.reverse(start, ends)
	return nil
}

// mergeOne writes the members of a mapping in a list after <<.
func (c *converter) mergeOne(block bool) error {
	t, err := c.s.peek()
	if err != nil {
		return err
	}
	if t.kind == alias {
		return c.mergeAlias(t)
	}
	p, t, err := c.properties(t)
	if err != nil {
		return err
	}
	if t.kind != flowMapping && (t.kind != blockMapping || !block) {
		return c.fail(t, "<< needs a mapping, or a list of mappings")
	}
	if !p.hasAnchor {
		return c.mapping(t)
	}
	if err := c.begin(p.anchor); err != nil {
		return err
	}
	start := len(c.out)
	if err := c.mapping(t); err != nil {
		return err
	}
	return c.keepMembers(p.anchor, start)
}

// reverse reverses the members that end at these positions, with commas between them.
func (c *converter) reverse(start int, ends []int) {
	if len(ends) < 2 {
		return
	}
	c.scratch = append(c.scratch[:0], c.out[start:]...)
	written := c.scratch
	c.out = c.out[:start]
	for i := len(ends) - 1; i >= 0; i-- {
		from := start
		if i > 0 {
			from = ends[i-1]
		}
		if from == ends[i] {
			continue
		}
		if len(c.out) > start {
			c.write(",")
		}
		c.out = append(c.out, written[from-start:ends[i]-start]...)
	}
}
