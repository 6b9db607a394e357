package site

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/capstan-dev/capstan/tools/storm/record"
)

// Dump writes all goroutines of the server into a file and returns the file's name: by
// its profile, or by SIGQUIT, which ends it, when the server does not answer.
func (s *Site) Dump(ctx context.Context) string {
	if code, text, err := s.Ask(ctx, "/debug/pprof/goroutine?debug=2"); err == nil && code == 200 {
		file := filepath.Join(s.Dir, "goroutines.txt")
		if os.WriteFile(file, text, 0o600) == nil {
			return file
		}
	}
	s.mu.Lock()
	cmd, ended := s.cmd, s.ended
	s.mu.Unlock()
	return s.quit(cmd, ended)
}

// quit has the runtime write all goroutines into the log and end.
func (s *Site) quit(cmd *exec.Cmd, ended chan struct{}) string {
	_ = cmd.Process.Signal(syscall.SIGQUIT)
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		_ = cmd.Process.Kill()
		<-ended
	}
	return s.Log()
}

// Pause lets the process stand still for a while.
func (s *Site) Pause(d time.Duration) {
	s.mu.Lock()
	cmd := s.cmd
	s.stands = time.Now()
	s.mu.Unlock()
	_ = cmd.Process.Signal(syscall.SIGSTOP)
	time.Sleep(d)
	_ = cmd.Process.Signal(syscall.SIGCONT)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused, s.stands = s.paused+time.Since(s.stands), time.Time{}
}

// Hangup has the server look at its files.
func (s *Site) Hangup() {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.cmd.Process.Signal(syscall.SIGHUP)
}

// Paused is the time that the process has stood still so far.
func (s *Site) Paused() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stands.IsZero() {
		return s.paused
	}
	return s.paused + time.Since(s.stands)
}

// Figures are those of the process after a run of its garbage collector.
func (s *Site) Figures(ctx context.Context) (f record.Figures, err error) {
	if _, _, err = s.Ask(ctx, "/debug/pprof/heap?gc=1"); err != nil {
		return f, err
	}
	code, text, err := s.Ask(ctx, "/metrics")
	if err != nil {
		return f, err
	}
	if code != 200 {
		return f, fmt.Errorf("/metrics: %d", code)
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, _ := strconv.ParseFloat(value, 64) // other lines have none
		switch name {
		case "go_goroutines":
			f.Goroutines = n
		case "process_open_fds":
			f.Descriptors = n
		case "capstan_store_open_readers":
			f.Views = n
		case "go_memstats_heap_alloc_bytes":
			f.Heap = n
		}
	}
	return f, nil
}
