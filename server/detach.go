package server

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/capstan-dev/capstan/server/internal/conns"
)

// detached is an HTTP/1.1 connection that was taken away from net/http, to be
// the body of one answer, in chunks, until it is closed. A watch waits for most
// of its life; here it waits without net/http's buffers and deep stack, and an
// event goes out in one write of one record.
//
// The answer says Connection: close, because net/http takes no connection back.
type detached struct {
	conn  net.Conn // with TLS
	r     *request
	gone  context.CancelFunc // the client has closed its side
	large [headRoom]byte
}

// detach takes the connection and writes the head of the answer. gone is called
// when the client closes its side.
func (r *request) detach(gone context.CancelFunc) (*detached, error) {
	var head bytes.Buffer
	head.WriteString("HTTP/1.1 200 OK\r\n")
	r.headers(r.accept.ContentType())
	h := r.w.Header()
	h.Set("Connection", "close")
	h.Set("Transfer-Encoding", "chunked")
	h.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	_ = h.Write(&head) // to memory
	head.WriteString("\r\n")
	conn, _, err := http.NewResponseController(r.w).Hijack()
	if err != nil {
		return nil, fmt.Errorf("cannot take the connection: %w", err)
	}
	r.status = http.StatusOK
	d := &detached{conn: conn, r: r, gone: gone}
	if err := d.writeAll(head.Bytes()); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return d, nil
}

// mostIgnored is how much a client may send that has nothing to say.
const mostIgnored = 64 << 10

// listen waits for the client to go.
func (d *detached) listen() {
	defer d.gone()
	var ignored [64]byte
	for n := 0; n < mostIgnored; {
		k, err := d.conn.Read(ignored[:])
		if err != nil {
			return
		}
		n += k
	}
}

func (d *detached) write(buf []byte) error {
	var digits [8]byte
	size := strconv.AppendUint(digits[:0], uint64(len(buf)-headRoom), 16)
	start := headRoom - len(size) - 2
	copy(buf[start:], size)
	buf[headRoom-2], buf[headRoom-1] = '\r', '\n'
	return d.writeAll(append(buf[start:], '\r', '\n'))
}

func (d *detached) writeLarge(part []byte) error {
	size := append(strconv.AppendUint(d.large[:0], uint64(len(part)), 16), '\r', '\n')
	if err := d.writeAll(size); err != nil {
		return err
	}
	if err := d.writeAll(part); err != nil {
		return err
	}
	return d.writeAll([]byte("\r\n"))
}

func (d *detached) writeAll(p []byte) error {
	n, err := d.conn.Write(p)
	d.r.bytes += int64(n)
	if err != nil {
		return &conns.GoneError{Cause: err}
	}
	return nil
}

func (d *detached) push() error { return nil }

func (d *detached) end() error { return d.writeAll([]byte("0\r\n\r\n")) }
