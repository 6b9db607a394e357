package yaml

// handle is an abbreviation of tags.
type handle struct{ name, prefix string }

// properties are the anchor and the tag of a node.
type properties struct {
	anchor    string
	hasAnchor bool
	tag       string
	hasTag    bool
}

// properties reads an anchor and a tag in any order and returns the token after them.
func (c *converter) properties(t *token) (p properties, next *token, err error) {
	for {
		switch {
		case t.kind == anchor && !p.hasAnchor:
			p.anchor, p.hasAnchor = string(t.text), true
		case t.kind == tag && !p.hasTag:
			p.hasTag = true
			if p.tag, err = c.tag(t); err != nil {
				return p, nil, err
			}
		default:
			return p, t, nil
		}
		if t, err = c.take(); err != nil {
			return p, nil, err
		}
	}
}

// longestTag is above the length of any known tag.
const longestTag = 64

// tag is the whole of a tag. A long one is shortened, since it is unknown.
func (c *converter) tag(t *token) (string, error) {
	if t.text == nil {
		return string(t.more[:min(len(t.more), longestTag)]), nil
	}
	prefix, ok := c.prefix(string(t.text))
	if !ok {
		switch string(t.text) {
		case "!":
			prefix = "!"
		case "!!":
			prefix = coreTags
		default:
			return "", c.fail(t, "there is no %%TAG for %.64s", t.text)
		}
	}
	return prefix + string(t.more[:min(len(t.more), longestTag)]), nil
}

func (c *converter) prefix(name string) (string, bool) {
	for _, h := range c.handles {
		if h.name == name {
			return h.prefix[:min(len(h.prefix), longestTag)], true
		}
	}
	return "", false
}
