package dialed

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
)

// pipe makes connections and counts those that are open.
type pipe struct{ open int }

type end struct {
	net.Conn
	of *pipe
}

func (e *end) Close() error { e.of.open--; return e.Conn.Close() }

func (p *pipe) dial(context.Context, string, string) (net.Conn, error) {
	here, _ := net.Pipe()
	p.open++
	return &end{here, p}, nil
}

func TestConns(t *testing.T) {
	p, conns := &pipe{}, Conns{}
	dial := conns.Keep(p.dial)
	get := func() net.Conn {
		conn, err := dial(t.Context(), "tcp", "a:1")
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	open := func(want int, when string) {
		t.Helper()
		if p.open != want || len(conns.open) != want {
			t.Errorf("%s: %d connections are open, %d are known, want %d", when, p.open, len(conns.open), want)
		}
	}
	first := get()
	get()
	_ = first.Close()
	open(1, "of two one was closed")
	conns.Begin()
	conns.End()
	open(1, "a request has ended")
	conns.Begin()
	conns.Begin()
	conns.Retire()
	conns.End()
	open(1, "of two requests one has ended after the connections were retired")
	get()
	open(2, "a request makes a connection after they were retired")
	conns.End()
	open(0, "the last request has ended")
	if _, err := dial(t.Context(), "tcp", "a:1"); !errors.Is(err, ErrLate) {
		t.Errorf("a late connection: %v", err)
	}
	open(0, "a connection was late")
	conns.Begin()
	get()
	conns.End()
	open(0, "a later request has ended")
	failing := conns.Keep(func(context.Context, string, string) (net.Conn, error) { return nil, net.ErrClosed })
	if _, err := failing(t.Context(), "tcp", "a:1"); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

// Connections that nobody uses are closed when they are retired.
func TestRetiredUnused(t *testing.T) {
	p, conns := &pipe{}, Conns{}
	if _, err := conns.Keep(p.dial)(t.Context(), "tcp", "a:1"); err != nil {
		t.Fatal(err)
	}
	if conns.Retire(); p.open != 0 || len(conns.open) != 0 {
		t.Errorf("%d connections are open, %d are known", p.open, len(conns.open))
	}
}

// A transport whose connections were closed gets no further request: another one carries it.
func TestCarrier(t *testing.T) {
	p, conns := &pipe{}, Conns{}
	conns.Carry(&http.Transport{DialContext: p.dial, MaxIdleConns: 7})
	get := func() *http.Transport {
		now := conns.carrier()
		if _, err := now.DialContext(t.Context(), "tcp", "a:1"); err != nil {
			t.Fatal(err)
		}
		return now
	}
	conns.Begin()
	first := get()
	if conns.carrier() != first {
		t.Error("a transport was replaced while a request uses it")
	}
	conns.CloseAll()
	second := get()
	conns.Retire()
	if second == first || second.MaxIdleConns != 7 || conns.carrier() != second {
		t.Error("the transport was not replaced when its connections were closed, and only then")
	}
	conns.End()
	if conns.carrier() == second || p.open != 0 {
		t.Errorf("after the last request the same transport goes on, with %d connections", p.open)
	}
}
