package yaml

// anchored is the value of an anchor.
type anchored struct {
	json    []byte // nil until the value has ended
	meaning meaning
	keys    keys // of an object
}

// begin notes the begin of an anchor's value.
func (c *converter) begin(name string) error {
	if c.anchors == nil {
		c.anchors = make(map[string]anchored)
	}
	if c.anchors[name] = (anchored{}); len(c.anchors) > maxAnchors {
		return &LimitError{"anchors", maxAnchors}
	}
	return nil
}

// keep notes the value of an anchor.
func (c *converter) keep(name string, json []byte, m meaning) error {
	if err := c.begin(name); err != nil {
		return err
	}
	c.kept += len(json)
	c.anchors[name] = anchored{json, m, c.repeats.ended(json)}
	return c.room(0)
}

// alias writes the value of an alias.
func (c *converter) alias(t *token) error {
	a, err := c.find(t)
	if err != nil {
		return err
	}
	c.out = append(c.out, a.json...)
	c.s.queue.take()
	return nil
}

// find returns the value of an alias, if there is room to write it.
func (c *converter) find(t *token) (anchored, error) {
	a, ok := c.anchors[string(t.text)]
	switch {
	case !ok:
		return a, c.fail(t, "there is no anchor %.64s in front of this", t.text)
	case a.json == nil:
		return a, c.fail(t, "the anchor %.64s contains itself", t.text)
	}
	return a, c.room(len(a.json))
}
