// Package progress shows how far long work has come: on a terminal as one line that is written again in
// its place, elsewhere as a line every ten seconds. Short work shows nothing.
package progress

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"
)

// Times of a meter.
const (
	terminalPause = 200 * time.Millisecond
	terminalDelay = time.Second // before the first line on a terminal
	linesPause    = 10 * time.Second
	window        = 30 * time.Second // of the rate
	windowParts   = 30
)

// Bytes is the unit of sizes. Other units are words that follow a number.
const Bytes = "bytes"

// state is how far some work has come.
type state struct {
	work, unit  string
	done, total int64 // total is 0 when it is unknown
}

// Meter shows the states of work. It is not for concurrent use; a nil one shows nothing.
type Meter struct {
	now          func() time.Time
	delay, pause time.Duration
	show         func(s state, left time.Duration, rate float64)
	hide         func()

	work    string
	samples []sample // of the window, the oldest first
	shown   time.Time
	visible bool
}

// sample is a state at a time.
type sample struct {
	at   time.Time
	done int64
}

// On shows progress on the standard error of a command.
func On(stderr io.Writer) *Meter {
	if f, ok := stderr.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		return onTerminal(f, func() int {
			columns, _, err := term.GetSize(int(f.Fd()))
			if err != nil {
				return 80
			}
			return columns
		}, time.Now)
	}
	return inLines(func(line string) { fmt.Fprintln(stderr, line) })
}

// inLines writes a line from time to time.
func inLines(write func(line string)) *Meter {
	return &Meter{now: time.Now, delay: linesPause, pause: linesPause, hide: func() {},
		show: func(s state, left time.Duration, rate float64) { write(line(s, left, rate)) }}
}

// onTerminal rewrites one line of a terminal, not longer than its columns.
func onTerminal(out io.Writer, columns func() int, now func() time.Time) *Meter {
	const clear = "\r\x1b[K"
	show := func(s state, left time.Duration, rate float64) {
		text := line(s, left, rate)
		// A line that reaches the last column may wrap, and then could not be written again.
		fmt.Fprint(out, clear, text[:min(len(text), max(columns()-1, 0))])
	}
	return &Meter{now: now, delay: terminalDelay, pause: terminalPause, hide: func() { fmt.Fprint(out, clear) }, show: show}
}

// In shows progress in a log.
func In(log *slog.Logger) *Meter {
	return inLines(func(line string) { log.Info(line) })
}

// At says how far work has come, in a unit: Bytes, or a word like "objects". The total may be an estimate that
// changes; it is 0 when it is unknown. The line about it begins with the words of work: "checking". Other words than
// those of the last call are of other work, which begins anew.
func (m *Meter) At(work, unit string, done, total int64) {
	if m == nil {
		return
	}
	s, now := state{work, unit, done, total}, m.now()
	if s.work != m.work || len(m.samples) == 0 {
		m.Hide()
		m.work, m.samples, m.shown = s.work, append(m.samples[:0], sample{now, s.done}), now.Add(m.delay-m.pause)
		return
	}
	last := m.samples[len(m.samples)-1]
	if now.Sub(last.at) >= window/windowParts {
		m.samples = append(m.samples, sample{now, s.done})
	}
	for len(m.samples) > 2 && now.Sub(m.samples[1].at) >= window {
		m.samples = m.samples[1:]
	}
	if now.Sub(m.shown) < m.pause {
		return
	}
	rate, left := 0.0, time.Duration(-1)
	if took := now.Sub(m.samples[0].at).Seconds(); took > 0 {
		rate = max(0, float64(s.done-m.samples[0].done)/took)
	}
	if s.total > 0 && s.done > s.total { // the estimate was too low
		s.total = 0
	}
	// The first part of a hundred, or of a window, says little about the rest.
	if s.total > 0 && rate > 0 && (s.done >= s.total/100 || now.Sub(m.samples[0].at) >= window) {
		left = seconds(float64(s.total-s.done) / rate)
	}
	m.shown, m.visible = now, true
	m.show(s, left, rate)
}

// Hide takes the line away from a terminal, before something else is written there or at the end.
func (m *Meter) Hide() {
	if m != nil && m.visible {
		m.visible = false
		m.hide()
	}
}

// longest bounds an estimate that means something.
const longest = 99 * 24 * time.Hour

// seconds is a number of seconds, rounded for people.
func seconds(n float64) time.Duration {
	if n > longest.Seconds() {
		return longest
	}
	d := time.Duration(n * float64(time.Second))
	if d >= 10*time.Minute {
		return d.Round(time.Minute)
	}
	return d.Round(time.Second)
}

// line is a state in words: "checking: 43 %, 1.2 GiB of 2.8 GiB, 85 MiB a second, 19s left". left is negative
// when it is unknown.
func line(s state, left time.Duration, rate float64) string {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	unit := " " + s.unit
	if s.unit == Bytes {
		number, unit = func(n int64) string { return Size(float64(n)) }, ""
	}
	var parts []string
	if s.total > 0 {
		parts = append(parts, fmt.Sprintf("%d %%", s.done*100/s.total), number(s.done)+" of "+number(s.total)+unit)
	} else {
		parts = append(parts, number(s.done)+unit)
	}
	if rate > 0 {
		parts = append(parts, number(int64(rate))+" a second")
	}
	if left >= 0 {
		text := left.String()
		if left >= time.Minute && left%time.Minute == 0 {
			text = strings.TrimSuffix(text, "0s")
		}
		parts = append(parts, text+" left")
	}
	return s.work + ": " + strings.Join(parts, ", ")
}

// Size is a number of bytes for people.
func Size(n float64) string {
	for _, unit := range []string{"B", "KiB", "MiB"} {
		if n < 1024 {
			return fmt.Sprintf("%.0f %s", n, unit)
		}
		n /= 1024
	}
	return fmt.Sprintf("%.1f GiB", n)
}
