package stream

import (
	"net/http"
	"sync"
	"time"

	"github.com/capstan-dev/capstan/server/internal/conns"
)

// Sink takes the frames of a watch: the body of an answer, or the messages of a
// WebSocket. It is used by one goroutine. Its errors are *conns.GoneError.
type Sink interface {
	// Add takes a frame, to be sent at the next Flush at the latest. The bytes are shared
	// by watchers; they are not changed and not kept.
	Add(frame []byte) error
	// Flush sends the added frames. Between a Flush and the next Add the sink holds only
	// the connection.
	Flush() error
	// End closes the stream after the last Flush.
	End()
}

// Streams makes the sinks of one server.
type Streams struct {
	sweeper *conns.Sweeper
	ping    time.Duration
	buffers *sync.Pool // of *[]byte, see newFrameBuffer
}

// New makes sinks whose writes the sweeper watches. A client with a WebSocket is pinged
// at intervals of ping, and has as long for its answer.
func New(sweeper *conns.Sweeper, ping time.Duration) *Streams {
	return &Streams{sweeper: sweeper, ping: ping, buffers: &sync.Pool{New: newFrameBuffer}}
}

// flushSize is the number of bytes of frames gathered before they are sent.
const flushSize = 32 << 10

// headRoom is left before gathered frames for the length of a chunk.
const headRoom = 16

// newFrameBuffer makes a buffer for gathered frames.
func newFrameBuffer() any {
	b := make([]byte, headRoom, headRoom+flushSize+16)
	return &b
}

// body is a sink that gathers frames, so that one write carries several. Its buffer comes
// from a pool and returns with every flush: an idle watch has none.
type body struct {
	wire   wire
	buffer *sync.Pool
	buf    *[]byte // headRoom bytes and frames; nil when nothing was added
	clean  bool    // everything was flushed; false at first, for the head
}

// wire writes parts of a body.
type wire interface {
	// write sends parts. The first headRoom bytes of buf are room for the wire.
	write(buf []byte) error
	// writeLarge sends a part that is too large to copy.
	writeLarge(part []byte) error
	// push makes sure that the written bytes are on their way.
	push() error
	// end finishes the body.
	end() error
}

func (b *body) Add(frame []byte) error {
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

func (b *body) Flush() error {
	if b.clean {
		return nil
	}
	b.clean = true
	if err := b.send(); err != nil {
		return err
	}
	return b.wire.push()
}

func (b *body) End() {
	if b.send() == nil {
		_ = b.wire.end() // the client is gone if this fails
	}
}

// Response is the body of an answer that net/http writes. In HTTP/2 a client can stall
// one stream and continue the others, so each is guarded.
type Response struct {
	body
	w       http.ResponseWriter
	sent    *int64
	control *http.ResponseController
	guard   *conns.Guard
}

// Respond makes a sink of an answer whose head has been written. The bytes of the body
// are added to sent as they are written.
func (s *Streams) Respond(w http.ResponseWriter, sent *int64) *Response {
	control := http.NewResponseController(w)
	_ = control.SetWriteDeadline(time.Time{}) // clears the deadline of short requests
	r := &Response{w: w, sent: sent, control: control,
		guard: s.sweeper.Guard(func() { _ = control.SetWriteDeadline(conns.Past()) })}
	r.body = body{wire: r, buffer: s.buffers}
	return r
}

// Close releases the guard of its writes. The handler may return then.
func (r *Response) Close() { r.guard.Release() }

func (r *Response) write(buf []byte) error { return r.writeLarge(buf[headRoom:]) }

func (r *Response) writeLarge(part []byte) error {
	r.guard.Begin()
	defer r.guard.End()
	n, err := r.w.Write(part)
	*r.sent += int64(n)
	if err != nil {
		return &conns.GoneError{Cause: err}
	}
	return nil
}

func (r *Response) push() error {
	r.guard.Begin()
	defer r.guard.End()
	if err := r.control.Flush(); err != nil {
		return &conns.GoneError{Cause: err}
	}
	return nil
}

func (r *Response) end() error { return nil }
