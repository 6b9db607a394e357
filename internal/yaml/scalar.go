package yaml

import "unicode/utf8"

// Classes of bytes, by which scalars are scanned in long steps.
const (
	endsWord uint8 = 1 << iota // a blank, the end, or perhaps a line break
	endsFlow                   // ends a plain scalar in a flow collection
	endsQuoted
	alphanumeric
	ofTag
	quotedJSON // special or forbidden in a JSON string
)

var classes = func() (t [256]uint8) {
	set := func(class uint8, bytes string) {
		for i := range len(bytes) {
			t[bytes[i]] |= class
		}
	}
	set(endsWord, " \t\r\n\x00\xc2\xe2")
	set(endsFlow, ",?[]{}")
	set(endsQuoted, " \t\r\n\x00\xc2\xe2\"'\\")
	set(ofTag, ";/?:@&=+$,.!~*'()[]%")
	for c := range 256 {
		if c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			t[c] |= quotedJSON
		}
		if '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c == '-' {
			t[c] |= alphanumeric | ofTag
		}
	}
	return t
}()

// folding is the white space between two words of a scalar. It is valid until the next
// one.
type folding struct {
	from, to int    // blanks on one line
	broken   bool   // there was a line break, or an escaped one
	ordinary bool   // the first break separates lines, not paragraphs
	first    int    // its length in breaks
	breaks   []byte // all of them
}

// fold reads white space. escaped means that an escaped break came before it. Left of the
// column indent there must be no tabs.
func (s *scanner) fold(escaped bool, indent int) (f folding, err error) {
	f.from, f.broken, f.breaks = s.pos, escaped, s.breaks[:0]
	for {
		c := s.at(s.pos)
		switch {
		case c == ' ' || c == '\t':
			if c == '\t' && f.broken && s.column() < indent {
				return f, s.fail("a tab cannot indent, use spaces")
			}
			s.pos++
			continue
		case classes[c]&endsWord == 0:
		default:
			n := s.breakAt(s.pos)
			if n == 0 {
				break
			}
			if !f.broken {
				f.to, f.broken = s.pos, true
				f.breaks = s.appendBreak(f.breaks, n)
				f.first, f.ordinary = len(f.breaks), f.breaks[0] == '\n'
			} else {
				f.breaks = s.appendBreak(f.breaks, n)
			}
			s.skipBreak(n)
			continue
		}
		if !f.broken {
			f.to = s.pos
		}
		s.breaks = f.breaks
		return f, nil
	}
}

// appendBreak appends the line break at pos as YAML reads it: most kinds become one line
// feed.
func (s *scanner) appendBreak(dst []byte, n int) []byte {
	if n == 3 {
		return append(dst, s.in[s.pos:s.pos+n]...)
	}
	return append(dst, '\n')
}

// appendFolded appends the meaning of white space between two words.
func (s *scanner) appendFolded(dst []byte, f folding) []byte {
	switch {
	case !f.broken:
		return append(dst, s.in[f.from:f.to]...)
	case !f.ordinary:
		return append(dst, f.breaks...)
	case len(f.breaks) == f.first:
		return append(dst, ' ')
	}
	return append(dst, f.breaks[f.first:]...)
}

// plainScalar reads text without quotes. It is a part of the input unless it spans
// several lines.
func (s *scanner) plainScalar() (token, error) {
	start, stop := s.pos, uint8(endsWord)
	if s.flow() {
		stop |= endsFlow
	}
	indent := s.indent + 1
	end := start
	var built []byte // the text, if it is not s.text[start:end]
	var f folding
	for {
		if s.column() == 0 && s.documentMark() || s.at(s.pos) == '#' {
			break
		}
		word := s.pos
		s.pos = s.wordEnd(stop)
		if s.pos > word {
			switch {
			case built != nil:
				built = append(s.appendFolded(built, f), s.in[word:s.pos]...)
			case f.broken:
				built = append(s.space[len(s.space):], s.in[start:end]...)
				built = append(s.appendFolded(built, f), s.in[word:s.pos]...)
			}
			end, f = s.pos, folding{}
		}
		if c := s.at(s.pos); c != ' ' && c != '\t' && s.breakAt(s.pos) == 0 {
			break
		}
		var err error
		if f, err = s.fold(false, indent); err != nil {
			return token{}, err
		}
		if !s.flow() && s.column() < indent {
			break
		}
	}
	if f.broken {
		s.mayBeKey = true
	}
	if built == nil {
		return token{kind: scalar, plain: true, text: s.in[start:end]}, nil
	}
	s.keep(built)
	return token{kind: scalar, plain: true, text: built}, nil
}

// keep keeps text that was appended to space.
func (s *scanner) keep(built []byte) {
	if need := len(s.space) + len(built); need <= cap(s.space) {
		s.space = s.space[:need]
	} else {
		s.space = built // the next text is appended to it
	}
}

// wordEnd is the end of a word of a plain scalar: a blank, a colon before a blank, or a
// special character in a flow collection.
func (s *scanner) wordEnd(stop uint8) int {
	i := s.pos
	for i < len(s.in) {
		c := s.in[i]
		switch {
		case c == ':':
			if s.blankAt(i + 1) {
				return i
			}
		case classes[c]&stop != 0:
			if c < utf8.RuneSelf || s.breakAt(i) > 0 {
				return i
			}
		}
		i++
	}
	return i
}

// singleQuoted reads 'text', doubleQuoted "text".
func (s *scanner) singleQuoted() (token, error) { return s.quoted('\'') }

func (s *scanner) doubleQuoted() (token, error) { return s.quoted('"') }

func (s *scanner) quoted(quote byte) (token, error) {
	start := s.pos
	s.pos++
	if end := s.simpleEnd(quote); end >= 0 {
		text := s.in[s.pos:end]
		s.pos = end + 1
		return token{kind: scalar, text: text}, nil
	}
	built := s.space[len(s.space):]
	for {
		if s.column() == 0 && s.documentMark() {
			return token{}, errorAt(s.in, start, "the quote has no end before the end of the document")
		}
		var broken bool
		var err error
		if built, broken, err = s.quotedWord(built, quote); err != nil {
			return token{}, err
		}
		switch s.at(s.pos) {
		case 0:
			return token{}, errorAt(s.in, start, "the quote has no end")
		case quote:
			s.pos++
			s.keep(built)
			return token{kind: scalar, text: built}, nil
		}
		f, err := s.fold(broken, -1)
		if err != nil {
			return token{}, err
		}
		built = s.appendFolded(built, f)
	}
}

// simpleEnd is the position of the quote that ends a text on one line without escapes; -1
// for any other text.
func (s *scanner) simpleEnd(quote byte) int {
	for i := s.pos; i < len(s.in); i++ {
		switch c := s.in[i]; {
		case classes[c]&endsQuoted == 0 || c == ' ' || c == '\t':
		case c == quote:
			if quote == '\'' && s.at(i+1) == '\'' {
				return -1
			}
			return i
		case c == '\\':
			if quote == '"' {
				return -1
			}
		case c == 0 || c != '"' && c != '\'' && s.breakAt(i) > 0:
			return -1
		}
	}
	return -1
}

// quotedWord appends text up to white space or the closing quote. broken means that it
// ended with an escaped line break.
func (s *scanner) quotedWord(dst []byte, quote byte) (out []byte, broken bool, err error) {
	for {
		from := s.pos
		for s.pos < len(s.in) && classes[s.in[s.pos]]&endsQuoted == 0 {
			s.pos++
		}
		dst = append(dst, s.in[from:s.pos]...)
		switch c := s.at(s.pos); {
		case c == quote:
			if quote == '"' || s.at(s.pos+1) != quote {
				return dst, false, nil
			}
			dst = append(dst, quote)
			s.pos += 2
		case c == '\\' && quote == '"':
			if n := s.breakAt(s.pos + 1); n > 0 {
				s.skipBreak(1 + n)
				return dst, true, nil
			}
			if dst, err = s.escape(dst); err != nil {
				return dst, false, err
			}
		case s.blankAt(s.pos):
			return dst, false, nil
		default: // the other quote, or a letter like those of a line break
			dst = append(dst, c)
			s.pos++
		}
	}
}

// escapes are the characters for the letters after a backslash.
var escapes = map[byte]rune{
	'0': 0, 'a': 7, 'b': 8, 't': 9, '\t': 9, 'n': 10, 'v': 11, 'f': 12, 'r': 13, 'e': 0x1b, ' ': ' ', '"': '"', '\'': '\'',
	'\\': '\\', 'N': 0x85, '_': 0xa0, 'L': 0x2028, 'P': 0x2029,
}

// escape appends the character of the escape at pos.
func (s *scanner) escape(dst []byte) ([]byte, error) {
	c := s.at(s.pos + 1)
	digits := 0
	switch c {
	case 'x':
		digits = 2
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	default:
		r, ok := escapes[c]
		if !ok {
			return dst, s.fail(`\%c is no escape; write \\ for a backslash`, c)
		}
		s.pos += 2
		return utf8.AppendRune(dst, r), nil
	}
	r := rune(0)
	for i := range digits {
		h := hexValue(s.at(s.pos + 2 + i))
		if h < 0 || r >= 1<<27 {
			return dst, s.fail(`\%c needs %d hexadecimal digits`, c, digits)
		}
		r = r<<4 | h
	}
	if !utf8.ValidRune(r) {
		return dst, s.fail("U+%04X is no character", r)
	}
	s.pos += 2 + digits
	return utf8.AppendRune(dst, r), nil
}

// hexValue is the value of a hexadecimal digit, -1 for another byte.
func hexValue(c byte) rune {
	switch {
	case '0' <= c && c <= '9':
		return rune(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10
	}
	return -1
}
