package balancer

import (
	"io"
	"net"
	"testing"
)

// TestBalancer: connections go to the servers in turn, past those that do not listen, and end without
// any.
func TestBalancer(t *testing.T) {
	b, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	ask := func() string {
		c, err := net.Dial("tcp", b.Address())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		text, err := io.ReadAll(c)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if got := ask(); got != "" {
		t.Errorf("without servers: %q", got)
	}
	var addresses []string
	var all []net.Listener
	for _, name := range []string{"a", "b"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = io.WriteString(c, name)
				_ = c.Close()
			}
		}()
		addresses, all = append(addresses, l.Addr().String()), append(all, l)
	}
	b.Use(addresses...)
	if got := ask() + ask() + ask() + ask(); got != "abab" && got != "baba" {
		t.Errorf("in turn: %q", got)
	}
	_ = all[0].Close()
	if got := ask() + ask(); got != "bb" {
		t.Errorf("with one that does not listen: %q", got)
	}
}
