package server

import (
	"net/http"
	"sync"
	"time"

	"github.com/capstan-dev/capstan/server/internal/conns"
)

// sink is where the frames of a watch go: the body of an answer, or the messages
// of a WebSocket. It is used by one goroutine. Its errors are *conns.GoneError.
type sink interface {
	// add takes a frame, to be sent at the next flush at the latest. The bytes
	// are shared by watchers; they are not changed and not kept.
	add(frame []byte) error
	// flush sends what was added. Between a flush and the next add nothing is
	// held but the connection.
	flush() error
	// end closes the stream after the last flush.
	end()
}

// flushSize is how many bytes of frames are gathered before they are sent.
const flushSize = 32 << 10

// headRoom is left in front of gathered frames for the length of a chunk.
const headRoom = 16

// newFrameBuffer makes a buffer for frames that are gathered.
func newFrameBuffer() any {
	b := make([]byte, headRoom, headRoom+flushSize+16)
	return &b
}

// body is a sink that gathers frames, so that one write carries as many as
// there are. Its buffer comes from a pool and goes back with every flush: an idle
// watch has none.
type body struct {
	wire   wire
	buffer *sync.Pool
	buf    *[]byte // headRoom bytes and frames; nil when nothing was added
	clean  bool    // everything was flushed; not so at first, for the head
}

// wire writes parts of a body.
type wire interface {
	// write sends parts. The first headRoom bytes of buf are room for the wire.
	write(buf []byte) error
	// writeLarge sends a part that is not worth copying.
	writeLarge(part []byte) error
	// push makes sure that what was written is on its way.
	push() error
	// end finishes the body.
	end() error
}

func (b *body) add(frame []byte) error {
	b.clean = false
	if len(frame) >= flushSize {
		if err := b.send(); err != nil {
			return err
		}
		return b.wire.writeLarge(frame)
	}
	if b.buf != nil && len(*b.buf)+len(frame) > headRoom+flushSize {
		if err := b.send(); err != nil {
			return err
		}
	}
	if b.buf == nil {
		b.buf = b.buffer.Get().(*[]byte)
	}
	*b.buf = append(*b.buf, frame...)
	return nil
}

func (b *body) send() error {
	if b.buf == nil {
		return nil
	}
	err := b.wire.write(*b.buf)
	*b.buf = (*b.buf)[:headRoom]
	b.buffer.Put(b.buf)
	b.buf = nil
	return err
}

func (b *body) flush() error {
	if b.clean {
		return nil
	}
	b.clean = true
	if err := b.send(); err != nil {
		return err
	}
	return b.wire.push()
}

func (b *body) end() {
	if b.send() == nil {
		_ = b.wire.end() // the client is gone if this fails
	}
}

// responseWire is the body of an answer that net/http writes. In HTTP/2 a client
// can stall one stream and go on with the others, so each is guarded.
type responseWire struct {
	r       *request
	control *http.ResponseController
	guard   *conns.Guard
}

func (s *Server) newResponseWire(r *request) responseWire {
	control := http.NewResponseController(r.w)
	_ = control.SetWriteDeadline(time.Time{}) // that of requests which do not last
	return responseWire{r, control, s.sweeper.Guard(func() { _ = control.SetWriteDeadline(conns.Past()) })}
}

func (w responseWire) write(buf []byte) error { return w.writeLarge(buf[headRoom:]) }

func (w responseWire) writeLarge(part []byte) error {
	w.guard.Begin()
	defer w.guard.End()
	return w.r.write(part)
}

func (w responseWire) push() error {
	w.guard.Begin()
	defer w.guard.End()
	if err := w.control.Flush(); err != nil {
		return &conns.GoneError{Cause: err}
	}
	return nil
}

func (w responseWire) end() error { return nil }
