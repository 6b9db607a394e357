//go:build linux

package doctor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// says compares findings with the beginnings of their texts.
func says(t *testing.T, have []Finding, want ...string) {
	t.Helper()
	wrong := len(have) != len(want)
	for i := 0; !wrong && i < len(want); i++ {
		wrong = !strings.HasPrefix(have[i].Text, want[i]) || have[i].Remedy == ""
	}
	if wrong {
		t.Errorf("found %+v, want %q", have, want)
	}
}

// TestDisk: little space, an unsuited file system and a slow disk are findings.
func TestDisk(t *testing.T) {
	const ext4, nfs, memory = 0xef53, 0x6969, 0x01021994
	says(t, checkFileSystem("/d", 1<<40, ext4))
	says(t, checkFileSystem("/d", 100<<20, ext4), "100 MiB are free on the disk of /d")
	says(t, checkFileSystem("/d", 1<<40, nfs), "/d is on NFS")
	says(t, checkFileSystem("/d", 1, memory), "0 MiB are free", "/d is on a file system in memory")
	says(t, checkSync("/d", time.Millisecond, nil))
	says(t, checkSync("/d", 30*time.Millisecond, nil), "the disk of /d needs 30ms")
	says(t, checkSync("/d", 0, errors.New("no")), "a file in /d cannot be written: no")
	if took, err := syncTime(t.TempDir()); err != nil || took <= 0 {
		t.Error(took, err)
	}
	if _, err := syncTime("/nowhere"); err == nil {
		t.Error("a file in no directory")
	}
}

// TestGroup: limits of the control group are findings when they are low.
func TestGroup(t *testing.T) {
	dir := t.TempDir()
	groups := filepath.Join(dir, "cgroup")
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	says(t, checkGroup(groups, dir)) // no control groups
	put("cgroup", "12:pids:/old\n0::/\n")
	says(t, checkGroup(groups, dir))
	put("memory.max", "max\n")
	put("pids.max", "4096\n")
	says(t, checkGroup(groups, dir))
	put("memory.max", "134217728\n")
	put("pids.max", "64\n")
	says(t, checkGroup(groups, dir), "the memory of this process is limited to 128 MiB", "this process may have 64 threads")
}

// TestOwner: a directory and its files belong to one user, that of the command.
func TestOwner(t *testing.T) {
	s := &Subject{DataDir: t.TempDir()}
	file := filepath.Join(s.DataDir, "x")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	says(t, checkOwner(s, os.Geteuid()))
	says(t, checkOwner(s, os.Geteuid()+1), s.DataDir+" belongs to the user ")
	if os.Geteuid() != 0 {
		t.Skip("only root gives files away")
	}
	if err := os.Chown(file, 1, -1); err != nil {
		t.Fatal(err)
	}
	says(t, checkOwner(s, 0), file+" belongs to the user 1, and the data directory to the user 0")
}

// TestHolders: what the kernel's tables do not name is not known.
func TestHolders(t *testing.T) {
	proc := t.TempDir()
	if got := lockHolder(proc, proc) + portHolder(proc, "127.0.0.1:80") + portHolder(proc, "x"); got != "" {
		t.Error(got)
	}
	for name, text := range map[string]string{"net/tcp": "sl local\n 0: 0100007F:0050 00000000:0000 0A 0:0 00:0 0 0 0 71 1\n 1: 0100007F:0051 00000000:0000 01 0:0 00:0 0 0 0 72 1\n",
		"812/comm": "other\n"} {
		file := filepath.Join(proc, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(proc, "812/fd"), 0o700); err != nil {
		t.Fatal(err)
	}
	for n, to := range map[string]string{"3": "socket:[71]", "4": "socket:[72]"} {
		if err := os.Symlink(to, filepath.Join(proc, "812/fd", n)); err != nil {
			t.Fatal(err)
		}
	}
	if got := portHolder(proc, "127.0.0.1:80"); got != "the process 812 (other)" {
		t.Errorf("%q", got)
	}
	if got := portHolder(proc, "127.0.0.1:81"); got != "" { // a connection, not a listener
		t.Errorf("%q", got)
	}
}

// TestClock: clocks apart are found, and a clock that a time server has set is not one adrift.
func TestClock(t *testing.T) {
	at := time.Unix(1e9, 0)
	for skew, want := range map[time.Duration]time.Duration{0: 0, 4 * time.Second: 0, -4 * time.Second: 0, time.Minute: 59 * time.Second, -time.Minute: time.Minute} {
		if got := apart(at.Add(skew), at, at.Add(time.Second)); got != want {
			t.Errorf("%v: %v", skew, got)
		}
	}
	mark := filepath.Join(t.TempDir(), "synchronized")
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if adrift(mark) {
		t.Error("a clock that is set is adrift")
	}
}
