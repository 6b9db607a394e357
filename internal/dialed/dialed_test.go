package dialed

import (
	"context"
	"errors"
	"net"
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
	p, late := &pipe{}, false
	conns := Conns{Late: func() bool { return late }}
	dial := conns.Keep(p.dial)
	get := func() net.Conn {
		conn, err := dial(t.Context(), "tcp", "a:1")
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	first := get()
	get()
	if _ = first.Close(); p.open != 1 || len(conns.open) != 1 {
		t.Errorf("of two connections one was closed: %d are open, %d are known", p.open, len(conns.open))
	}
	if conns.CloseAll(); p.open != 0 {
		t.Errorf("%d connections are open", p.open)
	}
	_ = get().Close()
	late = true
	if _, err := dial(t.Context(), "tcp", "a:1"); !errors.Is(err, ErrLate) || p.open != 0 {
		t.Errorf("a late connection: %v, %d are open", err, p.open)
	}
	failing := conns.Keep(func(context.Context, string, string) (net.Conn, error) { return nil, net.ErrClosed })
	if _, err := failing(t.Context(), "tcp", "a:1"); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}
