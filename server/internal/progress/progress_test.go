package progress

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// clock is a time that a test moves.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

// steps reports a state each tenth of a second, with rate units a second.
func (c *clock) steps(m *Meter, s state, rate int64, seconds int) state {
	for range seconds * 10 {
		m.At(s.work, s.unit, s.done, s.total)
		c.at = c.at.Add(100 * time.Millisecond)
		s.done += rate / 10
	}
	return s
}

// screen are the texts that a terminal of one line has shown.
func screen(out *bytes.Buffer) []string { return strings.Split(out.String(), "\r\x1b[K")[1:] }

func TestTerminal(t *testing.T) {
	c, out := &clock{time.Unix(1e9, 0)}, &bytes.Buffer{}
	columns := 100
	m := onTerminal(out, func() int { return columns }, c.now)
	s := c.steps(m, state{work: "checking", unit: Bytes, total: 2000 << 20}, 10<<20, 1)
	if out.Len() != 0 {
		t.Fatalf("work of less than a second shows %q", out)
	}
	c.steps(m, s, 10<<20, 9)
	all := screen(out)
	if n := len(all); n < 40 || n > 50 {
		t.Errorf("%d lines in 9 seconds, want about 45", n)
	}
	if got, want := all[len(all)-1], "checking: 4 %, 98 MiB of 2.0 GiB, 10 MiB a second, 3m10s left"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	out.Reset()
	columns = 20
	c.steps(m, state{work: "checking", unit: Bytes, done: 1 << 20}, 10, 2)
	m.Hide()
	all = screen(out)
	if got := all[len(all)-1]; len(all) < 3 || got != "" {
		t.Errorf("the terminal ends with %q", all)
	}
	for _, got := range all {
		if len(got) >= columns {
			t.Errorf("%q is too wide for %d columns", got, columns)
		}
	}
	out.Reset()
	m.Hide()
	if out.Len() != 0 {
		t.Errorf("a line that is not there is taken away: %q", out)
	}
}

// TestWindow: the time left follows the rate of the last half minute.
func TestWindow(t *testing.T) {
	c, out := &clock{time.Unix(1e9, 0)}, &bytes.Buffer{}
	m := onTerminal(out, func() int { return 100 }, c.now)
	s := c.steps(m, state{work: "a", unit: "objects", total: 100000}, 1000, 20)
	s = c.steps(m, s, 100, 35)
	all := screen(out)
	if got, want := all[len(all)-1], "a: 23 %, 23480 of 100000 objects, 100 a second, 13m left"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	out.Reset()
	c.steps(m, s, 0, 35)
	all = screen(out)
	if got := all[len(all)-1]; got != "a: 23 %, 23500 of 100000 objects" {
		t.Errorf("work that stands still: %q", got)
	}
}

// TestEstimates: a total that is too low counts as unknown, other work begins anew.
func TestEstimates(t *testing.T) {
	c, out := &clock{time.Unix(1e9, 0)}, &bytes.Buffer{}
	m := onTerminal(out, func() int { return 100 }, c.now)
	c.steps(m, state{work: "reading", unit: "objects", done: 50, total: 10}, 100, 2)
	if all := screen(out); strings.Contains(out.String(), "%") || all[len(all)-1] != "reading: 230 objects, 100 a second" {
		t.Errorf("%q", all)
	}
	out.Reset()
	c.steps(m, state{work: "comparing", unit: "objects", total: 10000}, 100, 2)
	all := screen(out)
	if all[0] != "" || !strings.HasPrefix(all[1], "comparing: 1 %, 100 of 10000 objects, 100 a second, 1m39s left") {
		t.Errorf("%q", all)
	}
	out.Reset()
	s := c.steps(m, state{work: "checking", unit: "objects", total: 1e6}, 100, 20)
	if strings.Contains(out.String(), "left") {
		t.Errorf("an estimate of the first 0.2 %%: %q", screen(out))
	}
	c.steps(m, s, 100, 15)
	if all := screen(out); all[len(all)-1] != "checking: 0 %, 3480 of 1000000 objects, 100 a second, 2h46m left" {
		t.Errorf("%q", all[len(all)-1])
	}
	for n, want := range map[float64]string{3725: "1h2m left", 60: "1m left", 65.4: "1m5s left", 1e12: "2376h0m left"} {
		if got := line(state{work: "a", done: 1, total: 2}, seconds(n), 1); !strings.HasSuffix(got, want) {
			t.Errorf("%g s: %q, want %q", n, got, want)
		}
	}
}

// TestFile: in a file there are whole lines, one in ten seconds; nothing for less, and nothing to take away.
func TestFile(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var logged bytes.Buffer
	for name, m := range map[string]*Meter{"file": On(f), "log": In(slog.New(slog.NewTextHandler(&logged, nil)))} {
		c := &clock{time.Unix(1e9, 0)}
		m.now = c.now
		read := func() string {
			if name == "log" {
				return logged.String()
			}
			text, err := os.ReadFile(f.Name())
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		s := c.steps(m, state{work: "checking", unit: "objects", total: 1000}, 10, 10)
		if got := read(); got != "" {
			t.Errorf("%s: after ten seconds %q", name, got)
		}
		c.steps(m, s, 10, 25)
		m.Hide()
		got := read()
		if strings.Count(got, "\n") != 3 || strings.Contains(got, "\x1b") || !strings.Contains(got, "checking: 20 %, 200 of 1000 objects, 10 a second, 1m20s left") {
			t.Errorf("%s: %q", name, got)
		}
	}
	var none *Meter
	none.At("a", Bytes, 1, 2)
	none.Hide()
}
