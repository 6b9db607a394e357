package yaml

import (
	"bytes"
	"unicode/utf8"
)

// Limits of a document.
const (
	maxDepth   = 512
	maxAnchors = 10_000
	// The JSON of a document, and what its anchors stand for, have this many bytes
	// for each byte of the YAML, and space besides. Without aliases and keys like
	// {n, n, n} it has less.
	maxGrowth = 3
	minSpace  = 4 << 20
)

// ToJSON converts the first document of YAML text to JSON text, null when there is
// none. A key that a mapping has more than once is there as often in the JSON, in
// the same order; so the last one counts where the last one counts in JSON. Text
// behind the first document is not looked at. The result may be the text itself.
// Errors are *Error and *LimitError.
func ToJSON(text []byte) ([]byte, error) {
	if plainJSON(text) {
		return text, nil
	}
	if at, ok := isText(text); !ok {
		return nil, errorAt(text, at, "the text must be UTF-8 without control characters, write them as escapes in double quotes")
	}
	text = trimBOM(text)
	c := converter{
		s:     newScanner(text),
		out:   make([]byte, 0, len(text)+len(text)/8+16),
		limit: maxGrowth*len(text) + minSpace,
	}
	if err := c.document(); err != nil {
		return nil, err
	}
	return c.out, nil
}

// printable is the length of the character at the beginning of b, 0 if it is none
// that may be in YAML.
func printable(b []byte) int {
	r, size := utf8.DecodeRune(b)
	if r == utf8.RuneError && size <= 1 || r < 0xa0 && r != 0x85 || r == 0xfffe || r == 0xffff {
		return 0
	}
	return size
}

// anchored is what an anchor stands for.
type anchored struct {
	json    []byte // nil as long as its end has not come
	meaning meaning
}

// converter writes the JSON of a document.
type converter struct {
	s       *scanner
	out     []byte
	limit   int // of out and of what anchors stand for
	depth   int
	anchors map[string]anchored
	kept    int // bytes in anchors, also in those that were replaced
	handles []handle
	scratch []byte
	lists   int // behind << that the converter is in
}

// handle is an abbreviation of tags.
type handle struct{ name, prefix string }

// properties are what may stand in front of a node.
type properties struct {
	anchor    string
	hasAnchor bool
	tag       string
	hasTag    bool
}

func (c *converter) fail(t *token, what string, args ...any) error {
	return errorAt(c.s.in, t.pos, what, args...)
}

// take moves behind the token that was looked at last and returns the next one.
func (c *converter) take() (*token, error) {
	c.s.queue.take()
	return c.s.peek()
}

// document writes the first document.
func (c *converter) document() error {
	t, err := c.s.peek()
	if err != nil {
		return err
	}
	explicit := t.kind == documentStart || t.kind == versionDirective || t.kind == tagDirective
	if explicit {
		if t, err = c.directives(t); err != nil {
			return err
		}
		switch t.kind {
		case versionDirective, tagDirective, documentStart, documentEnd, streamEnd:
			c.write("null")
			return nil
		}
	}
	if t.kind == streamEnd {
		c.write("null")
		return nil
	}
	if err := c.node(true, false); err != nil {
		return err
	}
	_, err = c.s.peek() // what ends the document must be a token at least
	return err
}

// directives reads what stands in front of ---, and that.
func (c *converter) directives(t *token) (*token, error) {
	version := false
	for t.kind != documentStart {
		switch t.kind {
		case versionDirective:
			if version {
				return nil, c.fail(t, "%%YAML is there twice")
			}
			version = true
		case tagDirective:
			if _, ok := c.prefix(string(t.text)); ok {
				return nil, c.fail(t, "%%TAG is there twice for %s", t.text)
			}
			c.handles = append(c.handles, handle{string(t.text), string(t.more)})
		default:
			return nil, c.fail(t, "--- is missing behind the directives")
		}
		var err error
		if t, err = c.take(); err != nil {
			return nil, err
		}
	}
	return c.take()
}

func (c *converter) write(text string) { c.out = append(c.out, text...) }

// node writes the node that begins with the next token. block says that it may be a
// block, indentless that it may be a list that is no further in than the key.
func (c *converter) node(block, indentless bool) error {
	if err := c.room(0); err != nil {
		return err
	}
	t, err := c.s.peek()
	if err != nil {
		return err
	}
	if t.kind == alias {
		return c.alias(t)
	}
	props, t, err := c.properties(t)
	if err != nil {
		return err
	}
	start, m := len(c.out), isCollection
	if props.hasAnchor {
		if err := c.begin(props.anchor); err != nil {
			return err
		}
	}
	switch {
	case t.kind == scalar:
		m, err = c.scalar(t, props)
	case t.kind == flowMapping, t.kind == blockMapping && block:
		c.write("{")
		if err = c.mapping(t); err == nil {
			c.write("}")
		}
	case t.kind == flowSequence:
		err = c.nested(c.flowSequence)
	case t.kind == blockSequence && block:
		err = c.nested(c.blockSequence)
	case t.kind == blockEntry && indentless:
		err = c.nested(c.indentlessSequence)
	case props.hasAnchor || props.hasTag:
		m, err = c.empty(t, props)
	default:
		return c.fail(t, "there is no value where one is expected")
	}
	if err == nil && props.hasAnchor {
		err = c.keep(props.anchor, bytes.Clone(c.out[start:]), m)
	}
	return err
}

// begin notes that what an anchor stands for has begun.
func (c *converter) begin(name string) error {
	if c.anchors == nil {
		c.anchors = make(map[string]anchored)
	}
	if c.anchors[name] = (anchored{}); len(c.anchors) > maxAnchors {
		return &LimitError{"anchors", maxAnchors}
	}
	return nil
}

// keep notes what an anchor stands for.
func (c *converter) keep(name string, json []byte, m meaning) error {
	if err := c.begin(name); err != nil {
		return err
	}
	c.kept += len(json)
	c.anchors[name] = anchored{json, m}
	return c.room(0)
}

// nested calls a function that writes a collection one level further in.
func (c *converter) nested(write func() error) error {
	if c.depth++; c.depth > maxDepth {
		return &LimitError{"levels of nesting", maxDepth}
	}
	err := write()
	c.depth--
	return err
}

// properties reads an anchor and a tag in any order and returns the token behind
// them.
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

// longestTag is more than any tag has that means something.
const longestTag = 64

// tag is the whole of a tag. A long one is shortened: it means nothing.
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
			return "", c.fail(t, "there is no %%TAG for %s", t.text)
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

// scalar writes a scalar.
func (c *converter) scalar(t *token, p properties) (m meaning, err error) {
	plain := t.plain && !p.hasTag
	var ok bool
	if c.out, m, ok = appendScalar(c.out, t.text, plain, p.tag); !ok {
		return 0, c.unfit(t, p)
	}
	c.s.queue.take()
	return m, nil
}

func (c *converter) unfit(t *token, p properties) error {
	if p.tag == "" {
		return c.fail(t, "JSON has no number for this, put quotes around it")
	}
	return c.fail(t, "the value is not what its tag says, %s", p.tag)
}

// empty writes a node that has properties only; t is what stands behind them.
func (c *converter) empty(t *token, p properties) (m meaning, err error) {
	var ok bool
	if c.out, m, ok = appendScalar(c.out, nil, !p.hasTag, p.tag); !ok {
		return 0, c.unfit(t, p)
	}
	return m, nil
}

// alias writes what an alias stands for.
func (c *converter) alias(t *token) error {
	a, err := c.find(t)
	if err != nil {
		return err
	}
	c.out = append(c.out, a.json...)
	c.s.queue.take()
	return nil
}

// find is what an alias stands for, if there is room to write it.
func (c *converter) find(t *token) (anchored, error) {
	a, ok := c.anchors[string(t.text)]
	switch {
	case !ok:
		return a, c.fail(t, "there is no anchor %s in front of this", t.text)
	case a.json == nil:
		return a, c.fail(t, "the anchor %s contains itself", t.text)
	}
	return a, c.room(len(a.json))
}

// room refuses a document that has become too large, or does with so many bytes
// more.
func (c *converter) room(more int) error {
	if len(c.out)+c.kept+more > c.limit {
		return &LimitError{"bytes of JSON, aliases written out", c.limit}
	}
	return nil
}

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

// entry writes an entry of a block, null if behind its mark is another one or what
// ends it. It returns the next token.
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

// mapping writes the members of an object without its braces; t is its first token.
func (c *converter) mapping(t *token) error {
	if t.kind == flowMapping {
		return c.nested(c.flowMapping)
	}
	return c.nested(c.blockMapping)
}

// members is where the members of an object begin in the output.
type members struct{ start int }

// separate writes a comma if there is a member already.
func (c *converter) separate(m *members) {
	if len(c.out) > m.start {
		c.write(",")
	}
}

func (c *converter) blockMapping() error {
	m := members{start: len(c.out)}
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
	return nil
}

func (c *converter) flowMapping() error {
	m := members{start: len(c.out)}
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
	return nil
}

// lonelyKey writes a member that has no value: {a, b}.
func (c *converter) lonelyKey(m *members) error {
	t, err := c.s.peek()
	if err != nil {
		return err
	}
	c.separate(m)
	merge, err := c.key()
	if err != nil {
		return err
	}
	if merge {
		return c.fail(t, "<< needs a mapping")
	}
	c.write(":null")
	return nil
}

// member writes a key and its value, null if there is none. end is the token that
// ends the collection.
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
		if err = c.merge(block); err == nil && len(c.out) == from {
			c.out = c.out[:before] // nothing but a comma
		}
		return err
	case !given:
		c.write(":null")
		return nil
	}
	c.write(":")
	return c.node(block, block)
}

const wrongKey = "a key must be a string, a number or a bool"

// key writes the name of a member, or says that the key is <<.
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
	default: // nothing but properties
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
	if c.out, ok = appendKey(c.out, a.json, a.meaning); !ok {
		return c.fail(t, wrongKey)
	}
	c.s.queue.take()
	return nil
}
