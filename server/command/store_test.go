package command

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/operate"
)

// serving runs a server on a data directory until stop is called.
func serving(t *testing.T, dataDir string) (stop func()) {
	t.Helper()
	signals := make(chan os.Signal, 2)
	stdout, w := io.Pipe()
	var stderr bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- capstan.run(context.Background(), []string{"serve", "--secure-port=0", "--data-dir=" + dataDir, "--log-level=warn"}, w, &stderr, from(signals))
		w.Close()
	}()
	lines := bufio.NewScanner(stdout)
	if !lines.Scan() {
		t.Fatalf("the server does not start: %s", &stderr)
	}
	rest := make(chan struct{})
	go func() {
		defer close(rest)
		for lines.Scan() {
		}
	}()
	return func() {
		signals <- syscall.SIGTERM
		if got := <-code; got != 0 {
			t.Errorf("the server ended with %d: %s", got, &stderr)
		}
		<-rest
	}
}

// must runs a command that has to succeed.
func must(t *testing.T, args ...string) (stdout string) {
	t.Helper()
	code, stdout, stderr := command(args...)
	if code != 0 || stderr != "" {
		t.Fatalf("%s: code %d, stderr %q", strings.Join(args, " "), code, stderr)
	}
	return stdout
}

func statsOf(t *testing.T, args ...string) (s store.Stats) {
	t.Helper()
	text := must(t, append([]string{"store", "stats", "-o", "json"}, args...)...)
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return s
}

// private checks that other users cannot read the files of a directory.
func private(t *testing.T, dir string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if files++; err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %s", path, info.Mode())
		}
		return err
	})
	if err != nil || files < 5 {
		t.Errorf("%d files in %s: %v", files, dir, err)
	}
}

// The life of a store: backed up from the running server and after it, lost, restored,
// and served again.
func TestStore(t *testing.T) {
	dir := t.TempDir()
	data, online, offline, restored := filepath.Join(dir, "data"), filepath.Join(dir, "online"), filepath.Join(dir, "offline"), filepath.Join(dir, "restored")
	stop := serving(t, data)
	if info, err := os.Stat(filepath.Join(data, "control.sock")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v, %v", info, err)
	}
	private(t, data)
	running := statsOf(t, "--data-dir", data)
	if running.Current == 0 || running.ID == "" || running.Unhealthy != "" {
		t.Errorf("of the running server: %+v", running)
	}
	if out := must(t, "store", "migrate", "--data-dir", data); !strings.HasSuffix(out, " objects are as this release stores them; 0 of them were rewritten\n") {
		t.Errorf("migrate: %q", out)
	}
	if out := must(t, "store", "backup", "--data-dir", data, "--to", online); !strings.HasPrefix(out, online+" holds the store up to revision ") {
		t.Errorf("backup: %q", out)
	}
	private(t, online)
	if info, err := os.Stat(online); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the backup: %v, %v", info, err)
	}
	if code, _, stderr := command("store", "backup", "--data-dir", data, "--to", online); code != 1 || !strings.Contains(stderr, "already exists; name another directory") {
		t.Errorf("a backup over a backup: code %d, %q", code, stderr)
	}
	if code, _, stderr := command("store", "check", "--data-dir", data); code != 1 || !strings.Contains(stderr, "in use by another process") || !strings.Contains(stderr, "store check --backup DIR") {
		t.Errorf("check of a store in use: code %d, %q", code, stderr)
	}
	if code, _, stderr := command("store", "restore", "--data-dir", data, "--from", online); code != 1 || !strings.Contains(stderr, "move it away first") {
		t.Errorf("restoring over a store: code %d, %q", code, stderr)
	}
	stop()

	if out := must(t, "store", "check", "--data-dir", data); !strings.HasPrefix(out, "no violations") {
		t.Errorf("check: %q", out)
	}
	if out := must(t, "store", "migrate", "--data-dir", data); !strings.HasSuffix(out, " 0 of them were rewritten\n") {
		t.Errorf("migrate: %q", out)
	}
	must(t, "store", "backup", "--data-dir", data, "--to", offline)
	stopped := statsOf(t, "--data-dir", data)
	for _, backup := range []string{online, offline} {
		must(t, "store", "check", "--backup", backup)
		if s := statsOf(t, "--backup", backup); s.ID != running.ID || s.Current < running.Current || s.Current > stopped.Current {
			t.Errorf("%s: %+v, the store when it was stopped %+v", backup, s, stopped)
		}
	}
	if out := must(t, "store", "stats", "--data-dir", data); !strings.Contains(out, fmt.Sprintf("newest revision                  %d\n", stopped.Current)) {
		t.Errorf("stats: %s", out)
	}

	if out := must(t, "store", "restore", "--data-dir", restored, "--from", offline); !strings.Contains(out, fmt.Sprintf("the next revision is %d", stopped.Current+defaultSkip+1)) {
		t.Errorf("restore: %q", out)
	}
	stop = serving(t, restored)
	if s := statsOf(t, "--data-dir", restored); s.ID != running.ID || s.Current < stopped.Current+defaultSkip {
		t.Errorf("of the restored server: %+v", s)
	}
	stop()
	must(t, "store", "check", "--data-dir", restored)
	if _, err := os.Stat(filepath.Join(restored, "control.sock")); !os.IsNotExist(err) {
		t.Errorf("the socket of a stopped server: %v", err)
	}
}

func TestStoreMistakes(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	for _, c := range []struct {
		args, want string
		usage      bool
	}{
		{"store check extra", "capstan: unexpected argument \"extra\"", true},
		{"store check --data-dir " + empty, "capstan: store: there is no store in " + empty, false},
		{"store check --data-dir x --backup y", "capstan: if any flags in the group", true},
		{"store backup --data-dir " + empty, "capstan: no destination: name a directory", true},
		{"store backup --data-dir " + empty + " --to " + dir + "/b", "capstan: store: there is no store in ", false},
		{"store restore --data-dir " + empty, "capstan: no backup: name its directory", true},
		{"store restore --from " + empty + " --data-dir " + dir + "/d", "capstan: store: there is no backup in ", false},
		{"store migrate --data-dir " + empty, "capstan: store: there is no store in ", false},
		{"store stats --data-dir " + empty, "capstan: store: there is no store in ", false},
		{"store stats -o yaml", "capstan: output format \"yaml\" is unknown", true},
	} {
		code, stdout, stderr := command(strings.Fields(c.args)...)
		if code != codeFor(c.usage) || stdout != "" || !strings.HasPrefix(stderr, c.want) || strings.Contains(stderr, "--help' for usage") != c.usage {
			t.Errorf("%s: code %d, stdout %q, stderr %q", c.args, code, stdout, stderr)
		}
	}
	if _, err := os.Stat(empty); !os.IsNotExist(err) {
		t.Errorf("looking for a store made %s: %v", empty, err)
	}
}

// Every violation is printed, and the exit code reports that there is one.
func TestStoreCheckFindsDamage(t *testing.T) {
	data := t.TempDir()
	e, err := store.Open(store.Config{Dir: operate.StoreDir(data)})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a", "b", "c"} {
		if _, err := e.Update(context.Background(), key, func(*store.Entry) (store.Write, error) {
			return store.Write{Op: store.OpCreate, Value: store.Value{Body: []byte("{}"), RevisionAt: -1}}, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	damage(t, operate.StoreDir(data), "l0000000000000001", "l0000000000000003")
	code, stdout, stderr := command("store", "check", "--data-dir", data)
	if code != 1 || strings.Count(stdout, "\n") < 2 || !strings.Contains(stdout, "the log misses the revisions from 1 to 1") || !strings.HasSuffix(stderr, "violations; restore a backup\n") {
		t.Errorf("code %d, stdout %q, stderr %q", code, stdout, stderr)
	}
	code, _, stderr = command("store", "restore", "--from", operate.StoreDir(data), "--data-dir", filepath.Join(t.TempDir(), "new"))
	if code != 1 || !strings.Contains(stderr, "restore another backup") {
		t.Errorf("restoring a damaged backup: code %d, %q", code, stderr)
	}
}

// damage deletes keys of the tree without the store's knowledge, in byte order, which is
// that of the store's comparer too.
func damage(t *testing.T, dir string, keys ...string) {
	t.Helper()
	comparer := *pebble.DefaultComparer
	comparer.Name = comparerName(t, dir)
	db, err := pebble.Open(dir, &pebble.Options{Comparer: &comparer, FormatMajorVersion: pebble.FormatValueSeparation, Logger: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if err := db.Delete([]byte(key), pebble.Sync); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	// The tree now has other logs than the store's list.
	lists, err := filepath.Glob(filepath.Join(dir, "marker.logs.*"))
	if err != nil || len(lists) == 0 {
		t.Fatalf("no list of logs: %v", err)
	}
	for _, list := range lists {
		if err := os.Remove(list); err != nil {
			t.Fatal(err)
		}
	}
}

// comparerName reads the name from the tree's options.
func comparerName(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "OPTIONS-*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no options: %v", err)
	}
	text, err := os.ReadFile(files[len(files)-1])
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "comparer=")
	name, _, _ := strings.Cut(rest, "\n")
	return name
}

type quiet struct{}

func (quiet) Infof(string, ...any)           {}
func (quiet) Errorf(string, ...any)          {}
func (quiet) Fatalf(format string, a ...any) { panic(fmt.Sprintf(format, a...)) }
