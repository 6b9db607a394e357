package stream

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/capstan-dev/capstan/server/internal/conns"
)

// Detached is an HTTP/1.1 connection taken over from net/http, as the body of one answer,
// in chunks, until it is closed. A watch waits for most of its life; here it waits
// without net/http's buffers and deep stack, and an event leaves in one write of one
// record.
//
// The answer has Connection: close, because net/http does not take a connection back.
type Detached struct {
	body
	conn  net.Conn // with TLS
	sent  *int64
	large [headRoom]byte
}

// Detach takes over the connection of an answer that has not begun. The written bytes are
// added to sent.
func (s *Streams) Detach(w http.ResponseWriter, sent *int64) (*Detached, error) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, fmt.Errorf("cannot take the connection: %w", err)
	}
	d := &Detached{conn: conn, sent: sent}
	d.body = body{wire: d, buffer: s.buffers}
	return d, nil
}

// Begin writes the head of the answer, a 200. The connection is closed when it fails.
func (d *Detached) Begin(h http.Header) error {
	h.Set("Connection", "close")
	h.Set("Transfer-Encoding", "chunked")
	h.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	var head bytes.Buffer
	head.WriteString("HTTP/1.1 200 OK\r\n")
	_ = h.Write(&head) // to memory
	head.WriteString("\r\n")
	if err := d.writeAll(head.Bytes()); err != nil {
		_ = d.conn.Close()
		return err
	}
	return nil
}

// Close closes the connection.
func (d *Detached) Close() { _ = d.conn.Close() }

// mostIgnored bounds the bytes that a client may send although it has nothing to send.
const mostIgnored = 64 << 10

// Listen calls gone when the client has closed its side. It does not wait.
func (d *Detached) Listen(gone func()) { d.listen(mostIgnored, gone) }

func (d *Detached) listen(room int, gone func()) {
	conns.Sleep(d.conn, func() {
		var ignored [64]byte
		n, err := d.conn.Read(ignored[:])
		if err != nil || n >= room {
			gone()
			return
		}
		d.listen(room-n, gone)
	})
}

func (d *Detached) write(buf []byte) error {
	var digits [8]byte
	size := strconv.AppendUint(digits[:0], uint64(len(buf)-headRoom), 16)
	start := headRoom - len(size) - 2
	copy(buf[start:], size)
	buf[headRoom-2], buf[headRoom-1] = '\r', '\n'
	return d.writeAll(append(buf[start:], '\r', '\n'))
}

func (d *Detached) writeLarge(part []byte) error {
	size := append(strconv.AppendUint(d.large[:0], uint64(len(part)), 16), '\r', '\n')
	if err := d.writeAll(size); err != nil {
		return err
	}
	if err := d.writeAll(part); err != nil {
		return err
	}
	return d.writeAll([]byte("\r\n"))
}

func (d *Detached) writeAll(p []byte) error {
	n, err := d.conn.Write(p)
	*d.sent += int64(n)
	if err != nil {
		return &conns.GoneError{Cause: err}
	}
	return nil
}

func (d *Detached) push() error { return nil }

func (d *Detached) end() error { return d.writeAll([]byte("0\r\n\r\n")) }
