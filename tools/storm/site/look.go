package site

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/capstan-dev/capstan/tools/storm/record"
)

// Dump writes the goroutines of all servers into files and returns their names.
func (s *Site) Dump(ctx context.Context) string {
	var all []string
	for _, p := range s.processes {
		all = append(all, p.dump(ctx))
	}
	return strings.Join(all, " ")
}

// Pause lets a process stand still for a while.
func (s *Site) Pause(d time.Duration) { s.stand(d, s.next().signal) }

// Hang lets a member of the etcd stand still for a while, which one by one every member does, the leader
// too. Requests wait for the member until the servers and the other members do without it.
func (s *Site) Hang(d time.Duration) {
	m := s.etcd[int(s.turn.Add(1))%len(s.etcd)]
	s.stand(d, func(signal os.Signal) { _ = m.Signal(signal) }) // it may have ended
}

// stand has what gets the signals stand still for a while.
func (s *Site) stand(d time.Duration, send func(os.Signal)) {
	s.mu.Lock()
	s.stands = time.Now()
	s.mu.Unlock()
	send(syscall.SIGSTOP)
	time.Sleep(d)
	send(syscall.SIGCONT)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused, s.stands = s.paused+time.Since(s.stands), time.Time{}
}

// Hangup has a server look at its files.
func (s *Site) Hangup() { s.next().signal(syscall.SIGHUP) }

// Paused is the time that the process has stood still so far.
func (s *Site) Paused() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stands.IsZero() {
		return s.paused
	}
	return s.paused + time.Since(s.stands)
}

// Figures are those of all processes, each after a run of its garbage collector.
func (s *Site) Figures(ctx context.Context) (f record.Figures, err error) {
	for _, p := range s.processes {
		if err := p.addFigures(ctx, &f); err != nil {
			return f, err
		}
	}
	return f, nil
}

func (p *process) addFigures(ctx context.Context, f *record.Figures) error {
	if _, _, err := ask(ctx, p.url, "/debug/pprof/heap?gc=1"); err != nil {
		return err
	}
	code, text, err := ask(ctx, p.url, "/metrics")
	if err != nil {
		return err
	}
	if code != http.StatusOK {
		return fmt.Errorf("/metrics: %d", code)
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, _ := strconv.ParseFloat(value, 64) // other lines have none
		switch name {
		case "go_goroutines":
			f.Goroutines += n
		case "process_open_fds":
			f.Descriptors += n
		case "capstan_store_open_readers":
			f.Views += n
		case "go_memstats_heap_alloc_bytes":
			f.Heap += n
		}
	}
	return nil
}
