package conns

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"runtime/debug"
	"sync"
	"time"

	"github.com/capstan-dev/capstan/internal/ranks"
)

// Listener accepts connections that Of finds and that the sweeper ends when they are
// late, agrees on keys with their clients, and keeps connections over HTTP/1.1 that have
// been idle for a while without net/http, see keptConn.
type Listener struct {
	net.Listener
	tls      *tls.Config
	greeting time.Duration // the time allowed for TLS's handshake
	logf     func(format string, args ...any)
	resting  time.Duration // the time without a request until a connection rests
	sweeper  *Sweeper
	buffers  *sync.Pool

	ready chan arrival
	done  chan struct{} // closed by Close

	mu      ranks.Mutex[ranks.Leaf]
	waiting map[*timedConn]struct{} // handshakes and kept connections; nil when closed
}

// arrival is a result of Accept.
type arrival struct {
	conn net.Conn
	err  error
}

// NewListener accepts connections from l, whose clients have the given time for TLS's
// handshake. Failed ones are logged.
func NewListener(l net.Listener, config *tls.Config, greeting time.Duration, s *Sweeper, logf func(format string, args ...any)) *Listener {
	k := &Listener{Listener: l, tls: config, greeting: greeting, logf: logf, resting: restAfter, sweeper: s, buffers: newBuffers(),
		ready: make(chan arrival), done: make(chan struct{}), waiting: make(map[*timedConn]struct{})}
	go k.run()
	return k
}

// run accepts until Close. After an error it goes on when net/http does.
func (l *Listener) run() {
	for {
		c, err := l.Listener.Accept()
		if err == nil {
			go l.greet(c)
			continue
		}
		select {
		case l.ready <- arrival{err: err}:
		case <-l.done:
			return
		}
	}
}

// Accept returns a *keptConn for HTTP/1.1 and a *tls.Conn for HTTP/2, where net/http wants
// nothing else.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case a := <-l.ready:
		return a.conn, a.err
	case <-l.done:
		return nil, net.ErrClosed
	}
}

// Close closes the connections too that net/http does not have.
func (l *Listener) Close() error {
	l.mu.Lock()
	waiting := l.waiting
	l.waiting = nil
	l.mu.Unlock()
	if waiting != nil {
		close(l.done)
	}
	for c := range waiting { // those that leave meanwhile see that the listener is closed
		_ = c.SetReadDeadline(Past())
	}
	return l.Listener.Close()
}

// greet does TLS's handshake.
func (l *Listener) greet(raw net.Conn) {
	timed := newTimedConn(raw, l.sweeper)
	corked := &CorkedConn{Conn: timed, buffers: l.buffers}
	c := tls.Server(corked, l.tls)
	defer func() {
		if p := recover(); p != nil {
			l.logf("http: panic in a TLS handshake with %s: %v\n%s", raw.RemoteAddr(), p, debug.Stack())
			_ = timed.Close()
		}
	}()
	_ = c.SetDeadline(time.Now().Add(l.greeting))
	err := net.ErrClosed
	if l.enter(timed) {
		err = c.Handshake()
		l.leave(timed)
	}
	if err != nil {
		l.logf("http: TLS handshake error from %s: %v", raw.RemoteAddr(), err)
		var header tls.RecordHeaderError
		if errors.As(err, &header) && header.Conn != nil && likeHTTP(header.RecordHeader) {
			_, _ = io.WriteString(header.Conn, "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n")
		}
		_ = c.Close()
		return
	}
	_ = c.SetDeadline(time.Time{})
	switch {
	case c.ConnectionState().NegotiatedProtocol == "h2":
		corked.gathers = true
		l.pass(c)
	case timedOf(c) == nil:
		l.pass(c)
	default:
		l.pass(&keptConn{Conn: c, listener: l})
	}
}

// likeHTTP reports whether a client has sent HTTP and not TLS.
func likeHTTP(header [5]byte) bool {
	switch string(header[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "OPTIO":
		return true
	}
	return false
}

// pass gives a connection to net/http.
func (l *Listener) pass(c net.Conn) {
	select {
	case l.ready <- arrival{conn: c}:
	case <-l.done:
		_ = c.Close()
	}
}

// enter notes that net/http does not have a connection, whose reads fail when the listener
// is closed. It reports whether that has happened already.
func (l *Listener) enter(c *timedConn) (open bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting != nil {
		l.waiting[c] = struct{}{}
	}
	return l.waiting != nil
}

// leave is the end of enter, with its result.
func (l *Listener) leave(c *timedConn) (open bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.waiting, c)
	return l.waiting != nil
}
