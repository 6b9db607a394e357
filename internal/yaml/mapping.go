package yaml

import "bytes"

// mapping writes the members of an object without its braces; t is its first token.
func (c *converter) mapping(t *token) error {
	if t.kind == flowMapping {
		return c.nested(c.flowMapping)
	}
	return c.nested(c.blockMapping)
}

// members are those of an object: their position in the output, and their keys if
// repeated ones are reported.
type members struct {
	start int
	keys  keys
}

// beginMembers makes the members of an object that begins here.
func (c *converter) beginMembers() members {
	return members{start: len(c.out), keys: c.repeats.begin()}
}

// separate writes a comma unless the next member is the first.
func (c *converter) separate(m *members) {
	if len(c.out) > m.start {
		c.write(",")
	}
}

func (c *converter) blockMapping() error {
	m := c.beginMembers()
	t, err := c.take()
	for err == nil && t.kind == keyMark {
		if _, err = c.take(); err != nil {
			return err
		}
		if err = c.member(&m, blockEnd); err != nil {
			return err
		}
		t, err = c.s.peek()
	}
	if err != nil {
		return err
	}
	if t.kind != blockEnd {
		return c.fail(t, "a key with a colon is missing, or it is not in the column of the keys above")
	}
	c.s.queue.take()
	c.repeats.end(m.keys)
	return nil
}

func (c *converter) flowMapping() error {
	m := c.beginMembers()
	t, err := c.take()
	if err != nil {
		return err
	}
	for first := true; t.kind != flowMappingEnd; first = false {
		if !first {
			if t.kind != flowEntry {
				return c.fail(t, "a comma or } is missing in the mapping")
			}
			if t, err = c.take(); err != nil {
				return err
			}
			if t.kind == flowMappingEnd {
				break
			}
		}
		if t.kind == keyMark {
			if _, err = c.take(); err != nil {
				return err
			}
			err = c.member(&m, flowMappingEnd)
		} else {
			err = c.lonelyKey(&m)
		}
		if err != nil {
			return err
		}
		if t, err = c.s.peek(); err != nil {
			return err
		}
	}
	c.s.queue.take()
	c.repeats.end(m.keys)
	return nil
}

// lonelyKey writes a member without a value: {a, b}.
func (c *converter) lonelyKey(m *members) error {
	t, err := c.s.peek()
	if err != nil {
		return err
	}
	c.separate(m)
	at := t.pos
	merge, err := c.key()
	if err != nil {
		return err
	}
	if merge {
		return c.fail(t, "<< needs a mapping")
	}
	c.write(":null")
	c.repeats.note(m.keys, c.repeats.name(c.scratch), at)
	return nil
}

// member writes a key and its value, null if it has none. end is the token that ends the
// collection.
func (c *converter) member(m *members, end kind) error {
	before := len(c.out)
	c.separate(m)
	merge, err := c.key()
	if err != nil {
		return err
	}
	t, err := c.s.peek()
	if err != nil {
		return err
	}
	name, at := c.repeats.name(c.scratch), t.pos
	block := end == blockEnd
	given := t.kind == valueMark
	if given {
		if t, err = c.take(); err != nil {
			return err
		}
		if block {
			given = t.kind != keyMark && t.kind != valueMark && t.kind != blockEnd
		} else {
			given = t.kind != flowEntry && t.kind != end
		}
	}
	switch {
	case merge && !given:
		return c.fail(t, "<< needs a mapping")
	case merge:
		from := len(c.out)
		c.repeats.into(m.keys)
		if err = c.merge(block); err == nil && len(c.out) == from {
			c.out = c.out[:before] // removes a comma
		}
		c.repeats.into(nil)
		return err
	case !given:
		c.write(":null")
	default:
		at = t.pos
		c.write(":")
		err = c.node(block, block)
	}
	c.repeats.note(m.keys, name, at)
	return err
}

const wrongKey = "a key must be a string, a number or a bool"

// key writes the name of a member, or reports that the key is <<.
func (c *converter) key() (merge bool, err error) {
	if err := c.room(0); err != nil {
		return false, err
	}
	t, err := c.s.peek()
	if err != nil {
		return false, err
	}
	if t.kind == alias {
		return false, c.aliasKey(t)
	}
	p, t, err := c.properties(t)
	if err != nil {
		return false, err
	}
	text, plain, m := t.text, t.plain && !p.hasTag, isString
	switch t.kind {
	case scalar:
	case blockMapping, blockSequence, blockEntry, flowMapping, flowSequence:
		return false, c.fail(t, wrongKey)
	default: // properties only
		text, plain = nil, !p.hasTag
	}
	merge = string(text) == "<<" && (plain || p.tag == "!" || p.tag == coreTags+"merge")
	ok := true
	if merge {
		c.scratch = append(c.scratch[:0], `"<<"`...)
	} else if c.scratch, m, ok = appendScalar(c.scratch[:0], text, plain, p.tag); !ok {
		return false, c.unfit(t, p)
	} else if c.out, ok = appendKey(c.out, c.scratch, m); !ok {
		return false, c.fail(t, wrongKey)
	}
	if p.hasAnchor {
		err = c.keep(p.anchor, bytes.Clone(c.scratch), m)
	}
	if t.kind == scalar {
		c.s.queue.take()
	}
	return merge, err
}

// aliasKey writes the name of a member that is an alias.
func (c *converter) aliasKey(t *token) error {
	a, err := c.find(t)
	if err != nil {
		return err
	}
	var ok bool
	c.scratch = append(c.scratch[:0], a.json...)
	if c.out, ok = appendKey(c.out, a.json, a.meaning); !ok {
		return c.fail(t, wrongKey)
	}
	c.s.queue.take()
	return nil
}
