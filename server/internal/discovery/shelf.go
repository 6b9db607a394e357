package discovery

import (
	"time"

	"github.com/capstan-dev/capstan/internal/ranks"
)

// shelf keeps texts that are costly to make, all of them until none was requested for a
// while.
type shelf struct {
	mu    ranks.Mutex[ranks.Leaf]
	texts map[string][][]byte
	size  int
	idle  *time.Timer
}

const (
	// shelfTime is the time without a request after which a shelf is emptied.
	shelfTime = 10 * time.Minute
	// shelfSize bounds the bytes on a shelf: it is emptied when they are more.
	shelfSize = 512 << 20
)

// get returns the text of a key, which is made unless it is there. Texts of one key are
// equal.
func (s *shelf) get(key string, make func() ([][]byte, error)) ([][]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.idle == nil {
		s.idle = time.AfterFunc(shelfTime, s.empty)
	}
	s.idle.Reset(shelfTime)
	if text, ok := s.texts[key]; ok {
		return text, nil
	}
	text, err := make()
	if err != nil {
		return nil, err
	}
	if s.size > shelfSize {
		s.texts, s.size = nil, 0
	}
	if s.texts == nil {
		s.texts = map[string][][]byte{}
	}
	s.texts[key] = text
	for _, part := range text {
		s.size += len(part)
	}
	return text, nil
}

func (s *shelf) empty() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.texts, s.size = nil, 0
}
