package yaml

func (s *scanner) fetchEnd() error {
	if s.ended {
		s.push(token{kind: streamEnd, pos: s.pos})
		return nil
	}
	s.ended = true
	s.unroll(-1)
	if err := s.dropCandidate(); err != nil {
		return err
	}
	s.mayBeKey = false
	s.push(token{kind: streamEnd, pos: s.pos})
	return nil
}

func (s *scanner) fetchDocumentMark() error {
	s.unroll(-1)
	if err := s.dropCandidate(); err != nil {
		return err
	}
	s.mayBeKey = false
	k := documentStart
	if s.at(s.pos) == '.' {
		k = documentEnd
	}
	s.push(token{kind: k, pos: s.pos})
	s.pos += 3
	return nil
}

// fetchIndicator makes a token of one byte.
func (s *scanner) fetchIndicator(k kind, mayBeKey bool) error {
	if err := s.dropCandidate(); err != nil {
		return err
	}
	s.mayBeKey = mayBeKey
	s.push(token{kind: k, pos: s.pos})
	s.pos++
	return nil
}

func (s *scanner) open(k kind) error {
	if _, err := s.noteCandidate(); err != nil {
		return err
	}
	s.candidates[len(s.candidates)-1].collection = true
	s.candidates = append(s.candidates, candidate{})
	s.mayBeKey = true
	s.push(token{kind: k, pos: s.pos})
	s.pos++
	return nil
}

func (s *scanner) close(k kind) error {
	if err := s.dropCandidate(); err != nil {
		return err
	}
	if s.flow() {
		s.candidates = s.candidates[:len(s.candidates)-1]
	}
	s.mayBeKey = false
	s.push(token{kind: k, pos: s.pos})
	s.pos++
	return nil
}

func (s *scanner) fetchBlockEntry() error {
	if !s.flow() {
		if !s.mayBeKey {
			return s.fail("no list can begin here, begin it on a line of its own")
		}
		s.roll(s.column(), s.next(), blockSequence, s.pos)
	}
	return s.fetchIndicator(blockEntry, true)
}

func (s *scanner) fetchKey() error {
	if !s.flow() {
		if !s.mayBeKey {
			return s.fail("no key can begin here, begin it on a line of its own")
		}
		s.roll(s.column(), s.next(), blockMapping, s.pos)
	}
	return s.fetchIndicator(keyMark, !s.flow())
}

// fetchValue handles a colon. A candidate that it makes a key gets its token now.
func (s *scanner) fetchValue() error {
	c := &s.candidates[len(s.candidates)-1]
	if c.possible && s.alive(c) {
		if c.collection {
			return errorAt(s.in, c.pos, wrongKey)
		}
		s.insert(c.number, token{kind: keyMark, pos: c.pos})
		s.roll(c.pos-c.line, c.number, blockMapping, c.pos)
		c.possible = false
		s.mayBeKey = false
	} else {
		if err := s.dropCandidate(); err != nil {
			return err
		}
		if !s.flow() {
			if !s.mayBeKey {
				return s.fail("there can be no colon with a blank behind it here, put quotes around the text or begin the key on a line of its own")
			}
			s.roll(s.column(), s.next(), blockMapping, s.pos)
		}
		s.mayBeKey = !s.flow()
	}
	s.push(token{kind: valueMark, pos: s.pos})
	s.pos++
	return nil
}

// fetchScalar makes a token that may begin a key by a function that moves past it.
func (s *scanner) fetchScalar(scan func() (token, error)) error {
	level, err := s.noteCandidate()
	if err != nil {
		return err
	}
	s.mayBeKey = false
	start := s.pos
	t, err := scan()
	if err != nil {
		return err
	}
	t.pos, t.level = start, level
	s.push(t)
	return nil
}

func (s *scanner) fetchBlockScalar() error {
	if err := s.dropCandidate(); err != nil {
		return err
	}
	s.mayBeKey = true
	start := s.pos
	t, err := s.blockScalar()
	if err != nil {
		return err
	}
	t.pos = start
	s.push(t)
	return nil
}
