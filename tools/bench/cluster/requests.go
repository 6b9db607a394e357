package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// count is how often a request was answered in a phase, and the time of the CPU that it took in all.
type count struct {
	phase, request string
	requests       float64
	cpu            time.Duration // 0 without a profile
}

// countsOf are the requests between two observations. The profile has also those that are not answered yet,
// such as watches.
func countsOf(phase string, before, after series, spent map[string]time.Duration) []count {
	byName := map[string]float64{}
	for labels, n := range after {
		if n -= before[labels]; n > 0 {
			byName[requestName(labels)] += n
		}
	}
	for name := range spent {
		byName[name] += 0
	}
	var all []count
	for name, n := range byName {
		all = append(all, count{phase, name, n, spent[name]})
	}
	slices.SortFunc(all, func(a, b count) int {
		return cmp.Or(cmp.Compare(b.cpu, a.cpu), cmp.Compare(b.requests, a.requests), cmp.Compare(a.request, b.request))
	})
	return all
}

// requestName is the label of a request's samples in profiles.
func requestName(labels string) string {
	name := label(labels, "resource")
	if group := label(labels, "group"); group != "" && name != "" {
		name += "." + group
	}
	if sub := label(labels, "subresource"); sub != "" && name != "" {
		name += "/" + sub
	} else if name == "" {
		name = sub
	}
	return label(labels, "verb") + " " + name
}

// writeCounts writes the requests of all phases as a table.
func writeCounts(path string, all []count) error {
	var b bytes.Buffer
	b.WriteString("| phase | request | count | CPU ms | us each |\n| --- | --- | --- | --- | --- |\n")
	for _, n := range all {
		each := ""
		if n.requests > 0 && n.cpu > 0 {
			each = fmt.Sprintf("%.0f", float64(n.cpu.Microseconds())/n.requests)
		}
		fmt.Fprintf(&b, "| %s | %s | %.0f | %d | %s |\n", n.phase, n.request, n.requests, n.cpu.Milliseconds(), each)
	}
	return os.WriteFile(path, b.Bytes(), 0o600)
}

// beginProfile takes a profile of the server until the returned function is called, which then returns the time
// of each request. The server bounds a profile by its length, so that a long phase has several.
func (c *cluster) beginProfile(ctx context.Context, phase string) (end func() (map[string]time.Duration, error)) {
	if !c.profiled() {
		return func() (map[string]time.Duration, error) { return nil, nil }
	}
	ending, ended := make(chan struct{}), make(chan error, 1)
	var files []string
	go func() {
		for {
			file := filepath.Join(c.dir, fmt.Sprintf("%s.%d.pprof", strings.ReplaceAll(phase, " ", "-"), len(files)))
			text, err := c.client.do(ctx, http.MethodGet, address+"/debug/pprof/profile?seconds=5", "", "")
			if err == nil {
				err = os.WriteFile(file, text, 0o600)
			}
			if err != nil {
				ended <- err
				return
			}
			files = append(files, file)
			select {
			case <-ending:
				ended <- nil
				return
			default:
			}
		}
	}()
	return func() (map[string]time.Duration, error) {
		close(ending)
		if err := <-ended; err != nil {
			return nil, err
		}
		return timesOf(ctx, files)
	}
}

// tagLine is a line of the tags of a profile: 1.2s (20.1%): POST pods.
var tagLine = regexp.MustCompile(`^\s*([0-9.]+(?:ms|s|us|mins|hrs))\s*\([^)]*\):\s(.*)$`)

// timesOf are the times of the requests in profiles, by their labels.
func timesOf(ctx context.Context, files []string) (map[string]time.Duration, error) {
	out, err := exec.CommandContext(ctx, "go", append([]string{"tool", "pprof", "-tags", "-unit=ms"}, files...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("go tool pprof: %w", err)
	}
	times, within := map[string]time.Duration{}, false
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		line := lines.Text()
		if strings.Contains(line, ": Total ") {
			within = strings.HasPrefix(strings.TrimSpace(line), "request: ")
			continue
		}
		if found := tagLine.FindStringSubmatch(line); within && found != nil {
			if times[strings.TrimSpace(found[2])], err = time.ParseDuration(found[1]); err != nil {
				return nil, err
			}
		}
	}
	return times, nil
}
