package yaml

// longestKey bounds the bytes between the beginning of a key without ? and its colon.
const longestKey = 1024

// candidate is a token that may turn out to begin a key, when a colon follows. Each flow
// level has at most one.
type candidate struct {
	possible   bool
	required   bool // only a key is allowed in its position
	collection bool // it begins with a bracket, so it would be a wrong key
	number     int  // of the token
	pos, line  int
}

// scanner cuts a text into tokens.
type scanner struct {
	queue
	in   []byte
	pos  int
	line int // beginning of the current line: column and line in one
	// indent is the column of the innermost block, -1 for none; indents are those
	// around it.
	indent  int
	indents []int
	// candidates has one for the block level and one for each bracket.
	candidates []candidate
	mayBeKey   bool // a key may begin at pos
	ended      bool
	space      []byte // text of queued scalars that differs from the input
	breaks     []byte // of the last folding
	// Memory for the tokens and candidates of most texts.
	few     [8]token
	shallow [8]candidate
}

func newScanner(in []byte) *scanner {
	s := &scanner{in: in, indent: -1, mayBeKey: true}
	s.tokens, s.candidates = s.few[:0], s.shallow[:1]
	return s
}

// peek returns the next token without taking it.
func (s *scanner) peek() (*token, error) {
	for s.empty() || s.undecided(&s.tokens[s.head]) {
		if s.empty() {
			s.space = s.space[:0]
		}
		if err := s.fetch(); err != nil {
			return nil, err
		}
	}
	return &s.tokens[s.head], nil
}

// undecided reports whether a key may begin with the first token of the queue.
func (s *scanner) undecided(t *token) bool {
	if t.level == 0 || t.level > len(s.candidates) || s.ended {
		return false
	}
	c := &s.candidates[t.level-1]
	return c.possible && !c.collection && c.number == s.taken && s.alive(c)
}

// alive reports whether a colon at pos would make the candidate a key.
func (s *scanner) alive(c *candidate) bool { return c.line == s.line && s.pos-c.pos <= longestKey }

func (s *scanner) flow() bool { return len(s.candidates) > 1 }

func (s *scanner) column() int { return s.pos - s.line }

func (s *scanner) fail(what string, args ...any) error { return errorAt(s.in, s.pos, what, args...) }

// at is the byte at i, 0 after the end.
func (s *scanner) at(i int) byte {
	if i < len(s.in) {
		return s.in[i]
	}
	return 0
}

// breakAt is the length of the line break at i, 0 for none.
func (s *scanner) breakAt(i int) int {
	switch s.at(i) {
	case '\n':
		return 1
	case '\r':
		if s.at(i+1) == '\n' {
			return 2
		}
		return 1
	case 0xc2: // U+0085
		if s.at(i+1) == 0x85 {
			return 2
		}
	case 0xe2: // U+2028, U+2029
		if s.at(i+1) == 0x80 && s.at(i+2)&^1 == 0xa8 {
			return 3
		}
	}
	return 0
}

// blankAt reports whether a space, a tab, a line break or the end is at i.
func (s *scanner) blankAt(i int) bool {
	c := s.at(i)
	return c == ' ' || c == '\t' || c == 0 || s.breakAt(i) > 0
}

// endOfLineAt reports whether a line break or the end is at i.
func (s *scanner) endOfLineAt(i int) bool { return s.at(i) == 0 || s.breakAt(i) > 0 }

// skipBreak moves past the line break of length n.
func (s *scanner) skipBreak(n int) {
	s.pos += n
	s.line = s.pos
}

// skipLine moves to the end of the line.
func (s *scanner) skipLine() {
	for !s.endOfLineAt(s.pos) {
		s.pos++
	}
}

// skipBlanks moves past spaces and tabs.
func (s *scanner) skipBlanks() {
	for s.at(s.pos) == ' ' || s.at(s.pos) == '\t' {
		s.pos++
	}
}

// skipToToken moves past white space and comments.
func (s *scanner) skipToToken() {
	for {
		for s.at(s.pos) == ' ' || s.at(s.pos) == '\t' && (s.flow() || !s.mayBeKey) {
			s.pos++
		}
		if s.at(s.pos) == '#' {
			s.skipLine()
		}
		n := s.breakAt(s.pos)
		if n == 0 {
			return
		}
		s.skipBreak(n)
		if !s.flow() {
			s.mayBeKey = true
		}
	}
}

// fetch adds the next token to the queue, and those that it implies.
func (s *scanner) fetch() error {
	s.skipToToken()
	s.unroll(s.column())
	c := s.at(s.pos)
	if c == 0 {
		return s.fetchEnd()
	}
	if s.column() == 0 {
		if c == '%' {
			return s.fetchDirective()
		}
		if s.documentMark() {
			return s.fetchDocumentMark()
		}
	}
	switch c {
	case '[':
		return s.open(flowSequence)
	case '{':
		return s.open(flowMapping)
	case ']':
		return s.close(flowSequenceEnd)
	case '}':
		return s.close(flowMappingEnd)
	case ',':
		return s.fetchIndicator(flowEntry, true)
	case '-':
		if s.blankAt(s.pos + 1) {
			return s.fetchBlockEntry()
		}
		return s.fetchScalar(s.plainScalar)
	case '?':
		if s.flow() || s.blankAt(s.pos+1) {
			return s.fetchKey()
		}
		return s.fetchScalar(s.plainScalar)
	case ':':
		if s.flow() || s.blankAt(s.pos+1) {
			return s.fetchValue()
		}
		return s.fetchScalar(s.plainScalar)
	case '*':
		return s.fetchScalar(s.anchor)
	case '&':
		return s.fetchScalar(s.anchor)
	case '!':
		return s.fetchScalar(s.tag)
	case '|', '>':
		if !s.flow() {
			return s.fetchBlockScalar()
		}
	case '\'':
		return s.fetchScalar(s.singleQuoted)
	case '"':
		return s.fetchScalar(s.doubleQuoted)
	case '%', '@', '`', '\t':
	default:
		return s.fetchScalar(s.plainScalar)
	}
	return s.fail("no value can begin with %q, put quotes around it", c)
}

// documentMark reports whether the line at pos is --- or ..., or begins with one and a
// blank.
func (s *scanner) documentMark() bool {
	c := s.at(s.pos)
	return (c == '-' || c == '.') && s.at(s.pos+1) == c && s.at(s.pos+2) == c && s.blankAt(s.pos+3)
}

// roll begins a block of that kind if its column is further in than the current block.
// Its token gets the number.
func (s *scanner) roll(column, number int, k kind, pos int) {
	if s.flow() || s.indent >= column {
		return
	}
	s.indents = append(s.indents, s.indent)
	s.indent = column
	s.insert(number, token{kind: k, pos: pos})
}

// unroll ends the blocks that are further in than the column.
func (s *scanner) unroll(column int) {
	for !s.flow() && s.indent > column {
		s.push(token{kind: blockEnd, pos: s.pos})
		s.indent = s.indents[len(s.indents)-1]
		s.indents = s.indents[:len(s.indents)-1]
	}
}

// noteCandidate notes that the next token may begin a key.
func (s *scanner) noteCandidate() (level int, err error) {
	if !s.mayBeKey {
		return 0, nil
	}
	if err := s.dropCandidate(); err != nil {
		return 0, err
	}
	required := !s.flow() && s.indent == s.column()
	s.candidates[len(s.candidates)-1] = candidate{possible: true, required: required, number: s.next(), pos: s.pos, line: s.line}
	return len(s.candidates), nil
}

// dropCandidate removes the candidate of this level: it did not begin a key.
func (s *scanner) dropCandidate() error {
	c := &s.candidates[len(s.candidates)-1]
	if c.possible && c.required {
		return errorAt(s.in, c.pos, "there is no colon behind this key")
	}
	*c = candidate{}
	return nil
}
