package conns

import (
	"net/http"
	"sync"
	"time"
)

// hearing is what a connection knows of the end of its client while a request is handled.
// Net/http learns of it by a read of one byte, in a goroutine, from the end of the body
// to that of the answer; then it ends the request's context. That costs a thirtieth of
// most writes, and few requests wait for the end of their context. So the connection ends
// that read at once, and reads itself when Listen is called.
//
// Invariant: net/http does not read while ended is not nil. A byte that was read, of the
// client's next request, is the first of the next read.
type hearing struct {
	mu      sync.Mutex
	wanted  bool          // Listen has been called
	may     bool          // net/http has begun to look for the end
	ended   chan struct{} // closed at the end of the read; nil for none
	stopped bool          // the read ends by a deadline in the past
	ahead   struct {
		byte [1]byte
		full bool
	}
}

// Listen ends the context of a request that is being handled when the client goes.
// Without it only writing shows that. In HTTP/2 net/http does it.
func Listen(r *http.Request) {
	if c, ok := r.Context().Value(keptKey{}).(*keptConn); ok {
		c.listen()
	}
}

type keptKey struct{}

func (c *keptConn) listen() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wanted = true
	if !c.may || c.ended != nil || c.ahead.full {
		return
	}
	ended := make(chan struct{})
	c.ended = ended
	go func() {
		defer close(ended)
		n, err := c.Conn.Read(c.ahead.byte[:])
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.ahead.full = n == 1; err != nil && !c.stopped {
			c.gone()
		}
	}()
}

// mayListen notes that net/http looks for the end of the client. It reports false when
// net/http has to do that itself, since Listen was called before.
func (c *keptConn) mayListen() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.may = !c.wanted
	return c.may
}

// stopListening ends listening with the request.
func (c *keptConn) stopListening() {
	c.mu.Lock()
	ended := c.ended
	c.wanted, c.may, c.stopped = false, false, ended != nil
	c.mu.Unlock()
	if ended == nil {
		return
	}
	_ = c.Conn.SetReadDeadline(Past())
	<-ended
	_ = c.Conn.SetReadDeadline(time.Time{})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended, c.stopped = nil, false
}

// readOn reads, first the byte that listening has read.
func (c *keptConn) readOn(p []byte) (int, error) {
	if c.ahead.full && len(p) > 0 {
		c.ahead.full = false
		return copy(p, c.ahead.byte[:]), nil
	}
	return c.Conn.Read(p)
}
