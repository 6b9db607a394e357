package yaml

// blockScalar reads the text after | or >.
func (s *scanner) blockScalar() (token, error) {
	literal := s.at(s.pos) == '|'
	s.pos++
	chomp, increment, err := s.blockHeader()
	if err != nil {
		return token{}, err
	}
	indent := 0
	if increment > 0 {
		indent = max(s.indent, 0) + increment
	}
	built := s.space[len(s.space):]
	// The line break after the last line, and the empty lines after that: the next line
	// decides which of them count.
	var last, empty []byte
	wasBlank := false
	if empty, err = s.emptyLines(empty, &indent); err != nil {
		return token{}, err
	}
	for s.column() == indent && s.at(s.pos) != 0 {
		blank := s.at(s.pos) == ' ' || s.at(s.pos) == '\t'
		if !literal && !wasBlank && !blank && len(last) > 0 && last[0] == '\n' {
			if len(empty) == 0 {
				built = append(built, ' ')
			}
		} else {
			built = append(built, last...)
		}
		built = append(built, empty...)
		wasBlank = blank
		start := s.pos
		s.skipLine()
		built = append(built, s.in[start:s.pos]...)
		last = last[:0]
		if n := s.breakAt(s.pos); n > 0 {
			last = s.appendBreak(last, n)
			s.skipBreak(n)
		}
		if empty, err = s.emptyLines(empty[:0], &indent); err != nil {
			return token{}, err
		}
	}
	if chomp != '-' {
		built = append(built, last...)
	}
	if chomp == '+' {
		built = append(built, empty...)
	}
	s.keep(built)
	return token{kind: scalar, text: built}, nil
}

// blockHeader reads the characters between | and the text: its indentation and the
// treatment of line breaks at its end.
func (s *scanner) blockHeader() (chomp byte, increment int, err error) {
	for range 2 {
		switch c := s.at(s.pos); {
		case (c == '+' || c == '-') && chomp == 0:
			chomp = c
			s.pos++
		case '0' <= c && c <= '9' && increment == 0:
			if c == '0' {
				return 0, 0, s.fail("a block is indented by 1 to 9, not by 0")
			}
			increment = int(c - '0')
			s.pos++
		}
	}
	s.skipBlanks()
	if s.at(s.pos) == '#' {
		s.skipLine()
	}
	if !s.endOfLineAt(s.pos) {
		return 0, 0, s.fail("behind | or > there is a line break, or a comment")
	}
	if n := s.breakAt(s.pos); n > 0 {
		s.skipBreak(n)
	}
	return chomp, increment, nil
}

// emptyLines appends the line breaks of empty lines and moves to the text of the next
// line, at most by its indentation. An unknown indentation, 0, is taken from these lines.
func (s *scanner) emptyLines(dst []byte, indent *int) ([]byte, error) {
	widest := 0
	for {
		for (*indent == 0 || s.column() < *indent) && s.at(s.pos) == ' ' {
			s.pos++
		}
		widest = max(widest, s.column())
		if (*indent == 0 || s.column() < *indent) && s.at(s.pos) == '\t' {
			return nil, s.fail("a tab cannot indent, use spaces")
		}
		n := s.breakAt(s.pos)
		if n == 0 {
			break
		}
		dst = s.appendBreak(dst, n)
		s.skipBreak(n)
	}
	if *indent == 0 {
		*indent = max(widest, s.indent+1, 1)
	}
	return dst, nil
}
