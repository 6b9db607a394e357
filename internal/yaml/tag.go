package yaml

import (
	"bytes"
	"unicode/utf8"
)

// anchor reads &name or *name.
func (s *scanner) anchor() (token, error) {
	k := anchor
	if s.at(s.pos) == '*' {
		k = alias
	}
	s.pos++
	start := s.pos
	for classes[s.at(s.pos)]&alphanumeric != 0 {
		s.pos++
	}
	c := s.at(s.pos)
	if s.pos == start || !s.blankAt(s.pos) && bytes.IndexByte([]byte("?:,]}%@`"), c) < 0 {
		return token{}, s.fail("the name of an anchor is made of letters, digits, - and _")
	}
	return token{kind: k, text: s.in[start:s.pos]}, nil
}

// tag reads !, !suffix, !handle!suffix, or !<whole>, which has no handle.
func (s *scanner) tag() (token, error) {
	t := token{kind: tag}
	var err error
	if s.at(s.pos+1) == '<' {
		s.pos += 2
		if t.more, err = s.tagText(); err != nil {
			return t, err
		}
		if s.at(s.pos) != '>' || len(t.more) == 0 {
			return t, s.fail("a tag !<…> ends with >")
		}
		s.pos++
	} else {
		t.text = s.tagHandle()
		if len(t.text) > 1 && t.text[len(t.text)-1] == '!' {
			if t.more, err = s.tagText(); err == nil && len(t.more) == 0 {
				err = s.fail("a name follows the tag's handle %.64s", t.text)
			}
		} else {
			s.pos -= len(t.text) - 1 // the text after the first ! is not a handle
			t.text = t.text[:1]
			if t.more, err = s.tagText(); len(t.more) == 0 {
				t.text, t.more = nil, t.text
			}
		}
		if err != nil {
			return t, err
		}
	}
	if !s.blankAt(s.pos) {
		return t, s.fail("a blank follows a tag")
	}
	return t, nil
}

// tagHandle reads !, !name or !name!.
func (s *scanner) tagHandle() []byte {
	start := s.pos
	s.pos++
	for classes[s.at(s.pos)]&alphanumeric != 0 {
		s.pos++
	}
	if s.at(s.pos) == '!' {
		s.pos++
	}
	return s.in[start:s.pos]
}

// tagText reads the name in a tag. %41 in it is A.
func (s *scanner) tagText() ([]byte, error) {
	start, escaped := s.pos, false
	for classes[s.at(s.pos)]&ofTag != 0 {
		if s.at(s.pos) == '%' {
			escaped = true
			if hexValue(s.at(s.pos+1)) < 0 || hexValue(s.at(s.pos+2)) < 0 {
				return nil, s.fail("%% in a tag needs two hexadecimal digits")
			}
			s.pos += 2
		}
		s.pos++
	}
	text := s.in[start:s.pos]
	if !escaped {
		return text, nil
	}
	var plain []byte
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			plain = append(plain, text[i])
			continue
		}
		plain = append(plain, byte(hexValue(text[i+1])<<4|hexValue(text[i+2])))
		i += 2
	}
	if !utf8.Valid(plain) {
		return nil, s.fail("the escapes in the tag are no UTF-8")
	}
	return plain, nil
}

// fetchDirective reads a line that begins with %.
func (s *scanner) fetchDirective() error {
	s.unroll(-1)
	if err := s.dropCandidate(); err != nil {
		return err
	}
	s.mayBeKey = false
	t := token{pos: s.pos}
	s.pos++
	start := s.pos
	for classes[s.at(s.pos)]&alphanumeric != 0 {
		s.pos++
	}
	name := string(s.in[start:s.pos])
	if !s.blankAt(s.pos) {
		name = ""
	}
	s.skipBlanks()
	switch name {
	case "YAML":
		start := s.pos
		for !s.blankAt(s.pos) && s.at(s.pos) != '#' {
			s.pos++
		}
		if version := string(s.in[start:s.pos]); version != "1.1" && version != "01.1" && version != "1.01" && version != "01.01" {
			return s.fail("the version of YAML is 1.1")
		}
		t.kind = versionDirective
	case "TAG":
		if err := s.tagDirective(&t); err != nil {
			return err
		}
	default:
		return s.fail("there are no directives but %%YAML and %%TAG")
	}
	s.skipBlanks()
	if s.at(s.pos) == '#' {
		s.skipLine()
	}
	if !s.endOfLineAt(s.pos) {
		return s.fail("a directive has a line of its own")
	}
	if n := s.breakAt(s.pos); n > 0 {
		s.skipBreak(n)
	}
	s.push(t)
	return nil
}

// tagDirective reads the handle and the prefix of %TAG.
func (s *scanner) tagDirective(t *token) (err error) {
	t.kind = tagDirective
	if s.at(s.pos) != '!' {
		return s.fail("%%TAG needs a handle that begins with !")
	}
	t.text = s.tagHandle()
	if len(t.text) > 1 && t.text[len(t.text)-1] != '!' {
		return s.fail("the handle of %%TAG ends with !")
	}
	blank := s.pos
	if s.skipBlanks(); s.pos > blank {
		if t.more, err = s.tagText(); err != nil {
			return err
		}
	}
	if len(t.more) == 0 || !s.blankAt(s.pos) {
		return s.fail("%%TAG needs a handle and a prefix")
	}
	return nil
}
