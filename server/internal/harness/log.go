package harness

import (
	"bytes"
	"sync"
)

// Lines is a log that may be read while it is written.
type Lines struct {
	Mu   sync.Mutex
	Text bytes.Buffer
}

// Write implements io.Writer.
func (l *Lines) Write(b []byte) (int, error) {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	return l.Text.Write(b)
}
