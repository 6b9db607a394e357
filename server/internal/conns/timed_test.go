package conns

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// timedPair is a connection of a server whose writes may take a second, with its other
// end. It is called in a bubble of synctest.
func timedPair(t *testing.T) (*timedConn, net.Conn) {
	here, there := net.Pipe()
	s := NewSweeper(time.Second, time.Second)
	done := make(chan struct{})
	go s.Run(done)
	t.Cleanup(func() { close(done); _ = there.Close() })
	return newTimedConn(here, s), there
}

// TestTimedWrites: a write that takes too long fails, with or without a deadline, and
// later ones fail at once; a write that does not block is never late.
func TestTimedWrites(t *testing.T) {
	for _, test := range []struct {
		name     string
		deadline time.Duration // 0 for none
		want     time.Duration
	}{{"no deadline", 0, time.Second}, {"an early deadline", 300 * time.Millisecond, 300 * time.Millisecond}, {"a late deadline", time.Minute, time.Second}, {"one that has passed", -time.Second, 0}} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, there := timedPair(t)
				go func() { _, _ = there.Read(make([]byte, 1)) }()
				if _, err := c.Write([]byte("x")); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute) // idle
				if test.deadline != 0 {
					_ = c.SetWriteDeadline(time.Now().Add(test.deadline))
				}
				begun := time.Now()
				_, err := c.Write([]byte("nobody reads this"))
				if took := time.Since(begun); err == nil || took < test.want || took > test.want+test.want/4 {
					t.Errorf("after %s: %v", took, err)
				}
				_ = c.SetWriteDeadline(time.Time{})
				go func() { _, _ = io.Copy(io.Discard, there) }()
				if n, err := c.Write([]byte("x")); err == nil {
					t.Errorf("%d bytes are written after one that failed", n)
				}
			})
		})
	}
}

// TestTimedReads: deadlines of reads behave like those of a network connection.
func TestTimedReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, there := timedPair(t)
		read := func() (time.Duration, error) {
			begun := time.Now()
			_, err := c.Read(make([]byte, 1))
			return time.Since(begun), err
		}
		_ = c.SetReadDeadline(time.Now().Add(time.Second))
		if took, err := read(); !errors.Is(err, os.ErrDeadlineExceeded) || took < time.Second || took > 5*time.Second/4 {
			t.Errorf("after %s: %v", took, err)
		}
		_ = c.SetReadDeadline(time.Now())
		if took, err := read(); !errors.Is(err, os.ErrDeadlineExceeded) || took != 0 {
			t.Errorf("after %s: %v", took, err)
		}
		_ = c.SetDeadline(time.Now().Add(time.Second))
		_ = c.SetDeadline(time.Time{})
		go func() {
			time.Sleep(time.Minute)
			_, _ = there.Write([]byte("x"))
		}()
		if took, err := read(); err != nil || took != time.Minute {
			t.Errorf("after %s: %v", took, err)
		}
	})
}

// TestSweeperPauses: after the process stood still, operations have the time left that
// they had before.
func TestSweeperPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSweeper(time.Second, time.Second)
		cut := 0
		g := s.Guard(func() { cut++ })
		g.Begin()
		for tick := range 3 * sweepsPerStall {
			time.Sleep(time.Hour) // the process stands still between two sweeps
			s.sweep()
			synctest.Wait()
			if late := tick >= sweepsPerStall; late != (cut == 1) {
				t.Fatalf("after %d ticks it was cut %d times", tick+1, cut)
			}
		}
		if g.Release() {
			t.Error("what was cut was released in time")
		}
		other := s.Guard(func() { t.Error("what went on was cut") })
		for range 3 * sweepsPerStall {
			other.Begin()
			s.sweep()
			other.End()
		}
		if !other.Release() {
			t.Error("what was not cut was released too late")
		}
		s.BreakOff()
		synctest.Wait()
	})
}

// TestGuardEndsRead: the read that a guard cuts off takes its locks after that of the guard.
func TestGuardEndsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := timedPair(t)
		g := c.sweeper.GuardEarly(func() { _ = c.SetReadDeadline(Past()) })
		defer g.Release()
		time.AfterFunc(time.Second, c.sweeper.CutEarly)
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a read that was cut off ends with %v", err)
		}
	})
}
