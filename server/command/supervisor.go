package command

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// supervisor is systemd, or another process that started the server and wants to know its
// state, by the protocol of sd_notify(3): datagrams of lines NAME=value on the socket
// that the environment names. Without such a process it is nil, and its methods have no
// effect.
type supervisor struct {
	conn     net.Conn
	watchdog time.Duration // interval of its watchdog; 0: none
	ticker   *time.Ticker  // of the watchdog, once the server is ready
}

// newSupervisor finds the supervisor in the environment.
func newSupervisor(env func(string) string) (*supervisor, error) {
	address := env("NOTIFY_SOCKET")
	if address == "" {
		return nil, nil
	}
	if !strings.HasPrefix(address, "/") && !strings.HasPrefix(address, "@") { // @: of Linux' abstract names
		return nil, fmt.Errorf("NOTIFY_SOCKET: %q is not the path of a socket", address)
	}
	conn, err := net.Dial("unixgram", address)
	if err != nil {
		return nil, fmt.Errorf("NOTIFY_SOCKET: %w", err)
	}
	s := &supervisor{conn: conn}
	if pid := env("WATCHDOG_PID"); pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return s, nil // another process is meant
	}
	if text := env("WATCHDOG_USEC"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n <= 1 || n > int64(time.Hour*24*365/time.Microsecond) {
			return s, fmt.Errorf("WATCHDOG_USEC: %q is not a number of microseconds", text)
		}
		s.watchdog = time.Duration(n) * time.Microsecond / 2
	}
	return s, nil
}

// say sends lines in one message. A supervisor that does not listen misses them.
func (s *supervisor) say(lines ...string) {
	if s != nil {
		_, _ = s.conn.Write([]byte(strings.Join(lines, "\n") + "\n"))
	}
}

// begin starts the watchdog, if there is one.
func (s *supervisor) begin() {
	if s != nil && s.watchdog > 0 {
		s.ticker = time.NewTicker(s.watchdog)
	}
}

// due has a value whenever the watchdog expects a message.
func (s *supervisor) due() <-chan time.Time {
	if s == nil || s.ticker == nil {
		return nil
	}
	return s.ticker.C
}

// monotonic is the line with the time at which a reload has begun (Type=notify-reload).
func (s *supervisor) monotonic() string {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return ""
	}
	return "MONOTONIC_USEC=" + strconv.FormatInt(now.Nano()/1000, 10)
}

func (s *supervisor) close() {
	if s == nil {
		return
	}
	if s.ticker != nil {
		s.ticker.Stop()
	}
	_ = s.conn.Close()
}
