package command

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestSupervisorIsTold runs a server as systemd would.
func TestSupervisorIsTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	t.Setenv("WATCHDOG_USEC", "20000")
	t.Setenv("WATCHDOG_PID", strconv.Itoa(os.Getpid()))
	signals, reload := make(chan os.Signal, 2), make(chan os.Signal, 1)
	var stderr bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- capstan.run(context.Background(), []string{"serve", "--in-memory", "--secure-port=0"}, io.Discard, &stderr, fromBoth(signals, reload))
	}()

	// until reads messages up to one that begins in that way, past the watchdog's.
	until := func(want string) string {
		t.Helper()
		buffer := make([]byte, 1<<12)
		for {
			_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
			n, err := conn.Read(buffer)
			if err != nil {
				t.Fatalf("no %s: %v", want, err)
			}
			switch text := string(buffer[:n]); {
			case strings.HasPrefix(text, want):
				return text
			case text != "WATCHDOG=1\n":
				t.Fatalf("%q where %s is due", text, want)
			}
		}
	}
	if text := until("READY=1\n"); !strings.Contains(text, "\nSTATUS=serving on https://127.0.0.1:") {
		t.Errorf("%q", text)
	}
	until("WATCHDOG=1\n")
	reload <- syscall.SIGHUP
	if text := until("RELOADING=1\n"); !strings.Contains(text, "\nMONOTONIC_USEC=") {
		t.Errorf("%q", text)
	}
	until("READY=1\n")
	signals <- syscall.SIGTERM
	until("STOPPING=1\n")
	if got := <-code; got != 0 || !strings.Contains(stderr.String(), "msg=stopped") {
		t.Errorf("code %d: %s", got, &stderr)
	}
}

func TestSupervisorErrors(t *testing.T) {
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	if s, err := newSupervisor(env("WATCHDOG_USEC", "5")); s != nil || err != nil {
		t.Errorf("nobody: %v, %v", s, err)
	}
	var nobody *supervisor
	nobody.say("READY=1")
	nobody.begin()
	nobody.close()
	if nobody.due() != nil {
		t.Error("nobody wants to hear")
	}
	for _, address := range []string{"vsock:2:1", filepath.Join(t.TempDir(), "none")} {
		if s, err := newSupervisor(env("NOTIFY_SOCKET", address)); s != nil || err == nil || !strings.Contains(err.Error(), "NOTIFY_SOCKET") {
			t.Errorf("%s: %v, %v", address, s, err)
		}
	}
}
