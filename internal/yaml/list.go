package yaml

// blockSequence writes - a, and - b below it; the next token is its beginning.
func (c *converter) blockSequence() error {
	c.write("[")
	t, err := c.take()
	for first := true; err == nil && t.kind == blockEntry; first = false {
		if !first {
			c.write(",")
		}
		t, err = c.entry(blockEntry, blockEnd, blockEnd)
	}
	if err != nil {
		return err
	}
	if t.kind != blockEnd {
		return c.fail(t, "the list goes on with a - in the same column, or ends")
	}
	c.write("]")
	c.s.queue.take()
	return nil
}

// indentlessSequence writes a list in the column of its key.
func (c *converter) indentlessSequence() error {
	c.write("[")
	t, err := c.s.peek()
	for first := true; err == nil && t.kind == blockEntry; first = false {
		if !first {
			c.write(",")
		}
		t, err = c.entry(keyMark, valueMark, blockEnd)
	}
	if err != nil {
		return err
	}
	c.write("]")
	return nil
}

// entry writes an entry of a block, null if its mark is followed by another one or by the
// end. It returns the next token.
func (c *converter) entry(end1, end2, end3 kind) (*token, error) {
	t, err := c.take()
	if err != nil {
		return nil, err
	}
	if t.kind == blockEntry || t.kind == end1 || t.kind == end2 || t.kind == end3 {
		c.write("null")
	} else if err := c.node(true, false); err != nil {
		return nil, err
	}
	return c.s.peek()
}

// flowSequence writes [a, b]. An entry may be a mapping of one key without braces.
func (c *converter) flowSequence() error {
	c.write("[")
	t, err := c.take()
	if err != nil {
		return err
	}
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
			c.write(",")
		}
		if t.kind == keyMark {
			err = c.nested(c.pair)
		} else {
			err = c.node(false, false)
		}
		if err != nil {
			return err
		}
		if t, err = c.s.peek(); err != nil {
			return err
		}
	}
	c.write("]")
	c.s.queue.take()
	return nil
}

// pair writes a mapping of one key in a list.
func (c *converter) pair() error {
	c.write("{")
	if _, err := c.take(); err != nil {
		return err
	}
	m := members{start: len(c.out)}
	if err := c.member(&m, flowSequenceEnd); err != nil {
		return err
	}
	c.write("}")
	return nil
}
