package command

import (
	"bytes"
	"net"
	"strconv"
	"strings"
	"testing"
)

// TestFreePort: dev takes the wanted port, or says that it takes another one.
func TestFreePort(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := taken.Addr().(*net.TCPAddr).Port
	var said bytes.Buffer
	other, err := freePort(port, &said)
	if err != nil || other == port || !strings.Contains(said.String(), "port "+strconv.Itoa(port)+" is taken") {
		t.Errorf("%d in place of %d: %v, said %q", other, port, err, said.String())
	}
	if err := taken.Close(); err != nil {
		t.Fatal(err)
	}
	said.Reset()
	if same, err := freePort(port, &said); err != nil || same != port || said.Len() > 0 {
		t.Errorf("%d in place of %d: %v, said %q", same, port, err, said.String())
	}
}
