package yaml

import (
	"bytes"
	"unicode/utf8"
)

// Limits of a document.
const (
	maxDepth   = 10000
	maxAnchors = 10_000
	maxHandles = 64
	// The JSON of a document and the values of its anchors have at most this many bytes
	// for each byte of the YAML, plus a constant. Without aliases and keys like {n, n, n}
	// it has fewer.
	maxGrowth = 3
	minSpace  = 4 << 20
)

// ToJSON converts the first document of YAML text to JSON text, null when there is none.
// A key that a mapping repeats is repeated in the JSON, in the same order; so the last
// one counts where it does in JSON. Text after the first document is not read. The result
// may be the text itself. Errors are *Error and *LimitError.
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

// printable is the length of the character at the beginning of b, 0 for a character that
// YAML forbids.
func printable(b []byte) int {
	r, size := utf8.DecodeRune(b)
	if r == utf8.RuneError && size <= 1 || r < 0xa0 && r != 0x85 || r == 0xfffe || r == 0xffff {
		return 0
	}
	return size
}

// converter writes the JSON of a document.
type converter struct {
	s       *scanner
	out     []byte
	limit   int // of out and of the values of anchors
	depth   int
	anchors map[string]anchored
	kept    int // bytes in anchors, also in replaced ones
	handles []handle
	scratch []byte
	lists   int      // nesting of lists after <<
	repeats *repeats // nil unless repeated keys are reported
}

func (c *converter) fail(t *token, what string, args ...any) error {
	return errorAt(c.s.in, t.pos, what, args...)
}

// take moves past the current token and returns the next one.
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
	_, err = c.s.peek() // the document must end with a valid token
	return err
}

// directives reads the directives before ---, and that.
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
				return nil, c.fail(t, "%%TAG is there twice for %.64s", t.text)
			}
			if len(c.handles) == maxHandles {
				return nil, &LimitError{"%TAG directives", maxHandles}
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

// node writes the node that begins with the next token. block permits a block, indentless
// a list in the column of its key.
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

// nested calls a function that writes a collection one level deeper.
func (c *converter) nested(write func() error) error {
	if c.depth++; c.depth > maxDepth {
		return &LimitError{"levels of nesting", maxDepth}
	}
	err := write()
	c.depth--
	return err
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

// empty writes a node with properties only; t is the token after them.
func (c *converter) empty(t *token, p properties) (m meaning, err error) {
	var ok bool
	if c.out, m, ok = appendScalar(c.out, nil, !p.hasTag, p.tag); !ok {
		return 0, c.unfit(t, p)
	}
	return m, nil
}

// room refuses a document that has become too large, or does with so many more bytes.
func (c *converter) room(more int) error {
	if len(c.out)+c.kept+more > c.limit {
		return &LimitError{"bytes of JSON, aliases written out", c.limit}
	}
	return nil
}
