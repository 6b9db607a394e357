// Package clock makes servers whose clocks can be wrong, as those of machines are: their time of day is
// apart from the machine's, and time passes as it does.
package clock

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/tools/storm/overlay"
)

// variable is that of the environment which has the seconds by which the clock of a server is fast.
const variable = "STORM_CLOCK"

// Fast is the setting of the environment that makes the clock of a server fast, or slow if d is negative.
func Fast(d time.Duration) string { return fmt.Sprintf("%s=%d", variable, d/time.Second) }

// Of is the time by which the clock of a server of several is fast: that of the second one by d, and that
// of the third one by as much slow.
func Of(server int, d time.Duration) time.Duration { return []time.Duration{0, d, -d}[server%3] }

// The change of the standard library: every reading of the time of day goes through time.Now.
const (
	reading = "\tsec, nsec, mono := runtimeNow()\n\tif mono == 0 {\n"
	wrong   = "\tsec, nsec, mono := runtimeNow()\n\tsec += fast\n\tif mono == 0 {\n"
	setting = `package time

import "syscall"

var fast = func() (n int64) {
	text, _ := syscall.Getenv("` + variable + `")
	for i := range len(text) {
		if text[i] != '-' {
			n = 10*n + int64(text[i]-'0')
		}
	}
	if len(text) > 0 && text[0] == '-' {
		return -n
	}
	return n
}()
`
)

// Build builds the server of the module in root as a program in dir, with the one on etcd that it
// starts, and returns its path.
func Build(ctx context.Context, root, dir string) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	library, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	source := filepath.Join(strings.TrimSpace(string(library)), "src", "time")
	text, err := os.ReadFile(filepath.Join(source, "time.go"))
	if err != nil {
		return "", err
	}
	if n := bytes.Count(text, []byte(reading)); n != 1 {
		return "", fmt.Errorf("time.Now of this release of Go has this text %d times, it should be there once:\n%s", n, reading)
	}
	changed := map[string][]byte{
		filepath.Join(source, "time.go"): bytes.Replace(text, []byte(reading), []byte(wrong), 1),
		filepath.Join(source, "fast.go"): []byte(setting),
	}
	if _, err := overlay.Build(ctx, root, dir, "./server/cmd/capstan-etcd", changed); err != nil {
		return "", err
	}
	return overlay.Build(ctx, root, dir, "./server/cmd/capstan", changed)
}
