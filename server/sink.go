package server

import (
	"net/http"
	"sync"
	"time"
)

// sink is where the frames of a watch go: the body of an answer, or the messages
// of a WebSocket. It is used by one goroutine. Its errors are *goneError.
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

// stallTimeout is how long a client may leave the connection full before it is
// taken for gone. It is at least half as long.
const stallTimeout = time.Minute

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
	until  time.Time
}

// wire writes parts of a body.
type wire interface {
	// write sends parts. The first headRoom bytes of buf are room for the wire.
	write(buf []byte) error
	// writeLarge sends a part that is not worth copying.
	writeLarge(part []byte) error
	// push makes sure that what was written is on its way.
	push() error
	// deadline says until when a write may take.
	deadline(t time.Time)
	// end finishes the body.
	end() error
}

func (b *body) add(frame []byte) error {
	b.clean = false
	if len(frame) >= flushSize {
		if err := b.send(); err != nil {
			return err
		}
		b.extend()
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
	b.extend()
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

// extend moves the deadline of writes. Doing so costs a good part of a small
// write, so it is left alone until half of it has passed.
func (b *body) extend() {
	if now := time.Now(); b.until.Sub(now) < stallTimeout/2 {
		b.until = now.Add(stallTimeout)
		b.wire.deadline(b.until)
	}
}

func (b *body) end() {
	if b.send() == nil {
		_ = b.wire.end() // the client is gone if this fails
	}
}

// responseWire is the body of an answer that net/http writes.
type responseWire struct {
	r       *request
	control *http.ResponseController
}

func (w responseWire) write(buf []byte) error       { return w.r.write(buf[headRoom:]) }
func (w responseWire) writeLarge(part []byte) error { return w.r.write(part) }
func (w responseWire) end() error                   { return nil }

// deadline has no effect in tests whose writer has none.
func (w responseWire) deadline(t time.Time) { _ = w.control.SetWriteDeadline(t) }

func (w responseWire) push() error {
	if err := w.control.Flush(); err != nil {
		return &goneError{err}
	}
	return nil
}
