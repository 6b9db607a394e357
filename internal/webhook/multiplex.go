package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/net/http2/hpack"

	"github.com/capstan-dev/capstan/internal/ranks"
)

// multiplex is a connection of HTTP/2 without goroutines: the calls on it do its work. A
// call writes its frames, and those that others add meanwhile; one of the calls that wait
// for an answer reads for all. So a lone call wakes one thread instead of several, which
// is most of what net/http's connections cost.
//
// Invariant: mu is not held during system calls that may block. Only the call that set
// writing writes, only the reader reads.
type multiplex struct {
	conn *tls.Conn
	raw  syscall.RawConn // nil if there is none
	idle *time.Timer

	mu      ranks.Mutex[ranks.Inner]
	streams map[uint32]*stream // the calls under way
	last    uint32             // the number of the newest
	most    uint32             // calls at once that the server allows
	used    bool               // since the idle timer's last tick
	retired bool               // no further calls
	err     error              // the end of the connection

	out, spare []byte // frames to be written, room for the next
	replies    int    // bytes of out that answer frames
	writing    bool
	encoder    *hpack.Encoder
	block      bytes.Buffer // of the encoder
	window     int64        // bytes of bodies that may be sent
	first      int64        // the window of a new call

	reader  *stream
	cut     bool // the connection has a deadline for reads
	heard   time.Time
	in      []byte // what has been read, without complete frames
	decoder *hpack.Decoder
	headers headerBlock
	unpaid  int // bytes of bodies that the server may not yet send again
}

// unusable is the error of a connection that takes no call, or has not begun one: the
// transport makes another connection.
type unusable struct{}

func (unusable) Error() string { return "the connection takes no further calls" }

// IsHTTP2NoCachedConnError is the method by which net/http knows such errors.
func (unusable) IsHTTP2NoCachedConnError() {}

// newMultiplex makes a connection of HTTP/2 of one that has agreed to it.
func newMultiplex(conn *tls.Conn) *multiplex {
	m := &multiplex{conn: conn, streams: map[uint32]*stream{}, most: 100, window: firstWindow, first: firstWindow, decoder: hpack.NewDecoder(4096, nil)}
	m.encoder = hpack.NewEncoder(&m.block)
	m.decoder.SetMaxStringLength(mostHeaders)
	if system, ok := conn.NetConn().(syscall.Conn); ok {
		m.raw, _ = system.SyscallConn()
	}
	m.out = append(m.out, preface...)
	m.idle = time.AfterFunc(idleFor, m.tick)
	return m
}

// RoundTrip implements http.RoundTripper.
func (m *multiplex) RoundTrip(r *http.Request) (*http.Response, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.takes() {
		return nil, unusable{}
	}
	m.last += 2
	if m.last == 2 {
		m.last = 1
	}
	s := &stream{m: m, id: m.last, begun: time.Now(), window: m.first, wake: make(chan struct{}, 1)}
	m.streams[s.id], m.used = s, true
	ctx := r.Context()
	s.until, _ = ctx.Deadline()
	s.forget = context.AfterFunc(ctx, func() { s.cancel(ctx.Err()) })
	m.send(s, r)
	m.await(s, func() bool { return s.answer != nil })
	if s.err != nil {
		m.leave(s)
		return nil, s.err
	}
	s.answer.Body = s
	return s.answer, nil
}

// open reports whether the connection may take another call.
func (m *multiplex) open() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err == nil && !m.retired && uint32(len(m.streams)) < m.most
}

// takes reports whether the connection takes a call. One that nobody reads may have
// ended.
func (m *multiplex) takes() bool {
	for m.err == nil && len(m.streams) == 0 && m.reader == nil && m.pending() {
		m.reader = &stream{}
		m.cut = true
		_ = m.conn.SetReadDeadline(time.Now().Add(glance)) // some bytes may be of no frame
		if m.read() != nil {
			m.reader = nil
			break
		}
		m.reader = nil
	}
	m.pass()
	if uint32(len(m.streams)) >= m.most || m.last >= lastStream {
		m.retired = true
	}
	return m.err == nil && !m.retired
}

// pending reports whether there is something to read, or the end.
func (m *multiplex) pending() (is bool) {
	if m.raw == nil || m.last == 0 {
		return false
	}
	if m.cut {
		m.cut = false
		_ = m.conn.SetReadDeadline(time.Time{})
	}
	err := m.raw.Read(func(fd uintptr) bool {
		var one [1]byte
		_, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK)
		is = err != syscall.EAGAIN
		return true
	})
	return is || err != nil
}

// send sends a request as fast as the server takes it.
func (m *multiplex) send(s *stream, r *http.Request) {
	left := r.ContentLength
	m.encode(r)
	flags := byte(0)
	if left == 0 {
		flags, s.sent = flagEnd, true
	}
	m.out = appendBlock(m.out, s.id, flags, m.block.Bytes())
	for left > 0 && s.err == nil && !s.ended {
		n := min(left, mostFrame, m.window, s.window)
		if n <= 0 {
			m.flush(s)
			m.await(s, func() bool { return min(m.window, s.window) > 0 || s.ended })
			continue
		}
		if left -= n; left == 0 {
			flags, s.sent = flagEnd, true
		}
		m.out = appendHead(m.out, int(n), frameData, flags, s.id)
		at := len(m.out)
		m.out = append(m.out, make([]byte, n)...)
		if _, err := io.ReadFull(r.Body, m.out[at:]); err != nil { // bodies are in memory: a mistake of the caller
			m.fail(fmt.Errorf("reading the body of a call: %w", err))
		}
		m.window -= n
		s.window -= n
	}
	if r.Body != nil {
		_ = r.Body.Close()
	}
	m.flush(s)
}

// encode makes the header block of a request.
func (m *multiplex) encode(r *http.Request) {
	m.block.Reset()
	field := func(name, value string) {
		_ = m.encoder.WriteField(hpack.HeaderField{Name: name, Value: value}) // into memory
	}
	field(":authority", r.URL.Host)
	field(":method", r.Method)
	field(":path", r.URL.RequestURI())
	field(":scheme", "https")
	for name, values := range r.Header {
		for _, value := range values {
			field(strings.ToLower(name), value)
		}
	}
	field("content-length", strconv.FormatInt(r.ContentLength, 10))
}

// flush writes the gathered frames, unless another call is at it, which then writes
// these too.
func (m *multiplex) flush(s *stream) {
	if m.writing {
		return
	}
	m.writing = true
	for len(m.out) > 0 && m.err == nil {
		out := m.out
		m.out, m.spare, m.replies = m.spare[:0], nil, 0
		m.mu.Unlock()
		_ = m.conn.SetWriteDeadline(s.mayWrite())
		_, err := m.conn.Write(out)
		m.mu.Lock()
		if cap(out) <= keptRoom {
			m.spare = out[:0]
		}
		if err != nil {
			m.fail(err)
		}
	}
	m.writing = false
}

// await returns when a call is ready, or has failed. Until then it reads, or waits while
// another call reads.
func (m *multiplex) await(s *stream, ready func() bool) {
	for s.err == nil && !ready() {
		if m.reader != nil {
			s.waiting = true
			m.mu.Unlock()
			<-s.wake
			m.mu.Lock()
			s.waiting = false
			continue
		}
		m.reader = s
		_ = m.read()
		m.reader = nil
	}
	m.pass()
}

// pass makes a waiting call the reader.
func (m *multiplex) pass() {
	if m.reader != nil {
		return
	}
	for _, s := range m.streams {
		if s.waiting {
			s.signal()
			return
		}
	}
}

// read reads once, and handles the frames that are complete by then. An error that is
// not the connection's end is returned: the reader is no longer interested.
func (m *multiplex) read() error {
	if m.cut && m.reader.m != nil {
		m.cut = false
		_ = m.conn.SetReadDeadline(time.Time{})
	}
	if len(m.in) == cap(m.in) {
		m.in = append(make([]byte, 0, max(4096, min(2*cap(m.in), frameHead+mostFrame))), m.in...)
	}
	m.mu.Unlock()
	n, err := m.conn.Read(m.in[len(m.in):cap(m.in)])
	m.mu.Lock()
	if n > 0 {
		m.heard = time.Now()
		m.in = m.in[:len(m.in)+n]
		if wrong := m.frames(); wrong != nil {
			m.fail(wrong)
		}
	}
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		m.fail(err)
	}
	m.flush(m.reader)
	return err
}

// leave ends the call on the connection.
func (m *multiplex) leave(s *stream) {
	if m.streams[s.id] != s {
		return
	}
	delete(m.streams, s.id)
	s.forget()
	if m.err == nil && (!s.sent || !s.ended) {
		m.out = appendHead(m.out, 4, frameReset, 0, s.id)
		m.out = append(m.out, 0, 0, 0, codeCancel)
		m.flush(s)
	}
	m.pass()
	if m.retired && len(m.streams) == 0 {
		m.fail(net.ErrClosed)
	}
}

// fail ends the connection, and all its calls.
func (m *multiplex) fail(err error) {
	if m.err != nil {
		return
	}
	m.err = err
	m.idle.Stop()
	for _, s := range m.streams {
		s.end(err)
	}
	_ = m.conn.NetConn().Close() // without a last record, for which the server may let one wait
}

// retire takes no further calls, and ends the connection after the last.
func (m *multiplex) retire() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.retired = true; len(m.streams) == 0 {
		m.fail(net.ErrClosed)
	}
}

// tick ends a connection that has not been used since the last tick.
func (m *multiplex) tick() {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.used || len(m.streams) > 0:
		m.used = false
		m.idle.Reset(idleFor)
	default:
		m.retired = true
		m.fail(net.ErrClosed)
	}
}

// gone reports whether the connection has ended.
func (m *multiplex) gone() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err != nil
}
