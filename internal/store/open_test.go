package store

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

func TestConfigValidate(t *testing.T) {
	for _, c := range []struct {
		name   string
		config Config
		want   []string // parts of the message; empty for a valid configuration
	}{
		{"minimal", Config{Dir: "d"}, nil},
		{"all", Config{Dir: "d", FS: vfs.NewMem(), History: time.Hour, Clock: time.Now, Logger: slog.Default(), CacheBytes: 1 << 20, MemTableBytes: 1 << 20}, nil},
		{"nothing", Config{}, []string{"Dir is empty"}},
		{"everything", Config{History: -1, CacheBytes: 5, MemTableBytes: 1 << 40}, []string{"Dir", "History is -1ns", "CacheBytes is 5", "MemTableBytes is 1099511627776"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.config.Validate()
			if (err == nil) != (c.want == nil) {
				t.Fatalf("Validate: %v", err)
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not mention %q", err, part)
				}
			}
		})
	}
	if _, err := Open(Config{}); err == nil {
		t.Error("Open accepts an invalid configuration")
	}
}

func TestLocked(t *testing.T) {
	for name, config := range map[string]Config{
		"disk":   {Dir: filepath.Join(t.TempDir(), "data")},
		"memory": {Dir: "data", FS: vfs.NewMem()},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := Open(config)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Open(config); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), config.Dir) {
				t.Errorf("opening twice: %v, expected ErrLocked and the directory", err)
			}
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			e, err = Open(config)
			if err != nil {
				t.Fatalf("after Close: %v", err)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A process does not exclude itself from its locks, so another one has to try.
func TestLockedByAnotherProcess(t *testing.T) {
	const variable = "STORE_TEST_LOCKED_DIR"
	if dir := os.Getenv(variable); dir != "" {
		if _, err := Open(Config{Dir: dir}); !errors.Is(err, ErrLocked) {
			t.Errorf("%v, expected ErrLocked", err)
		}
		return
	}
	dir := t.TempDir()
	e, err := Open(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	cmd := exec.Command(os.Args[0], "-test.run=^TestLockedByAnotherProcess$")
	cmd.Env = append(os.Environ(), variable+"="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestFormat(t *testing.T) {
	for _, c := range []struct{ name, found string }{{"newer", "capstan-store-3"}, {"none", ""}} {
		t.Run(c.name, func(t *testing.T) {
			fs := vfs.NewMem()
			e, err := Open(Config{Dir: "data", FS: fs})
			if err != nil {
				t.Fatal(err)
			}
			if c.found == "" {
				err = e.db.Delete(metaKey(metaFormat), pebble.Sync)
			} else {
				err = e.db.Set(metaKey(metaFormat), []byte(c.found), pebble.Sync)
			}
			if err := errors.Join(err, e.Close()); err != nil {
				t.Fatal(err)
			}
			var format *FormatError
			_, err = Open(Config{Dir: "data", FS: fs})
			if !errors.As(err, &format) || format.Found != c.found || format.Supported != formatVersion {
				t.Errorf("Open: %v", err)
			}
			_, err = Open(Config{Dir: "data", FS: fs})
			if !errors.As(err, &format) {
				t.Errorf("Open again: %v; the refusal must release the lock", err)
			}
		})
	}
	t.Run("former", func(t *testing.T) {
		fs := vfs.NewMem()
		e, err := Open(Config{Dir: "data", FS: fs})
		if err == nil {
			err = errors.Join(e.db.Set(metaKey(metaFormat), []byte(formerFormat), pebble.Sync), e.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			open func(Config) (*Engine, error)
			want string
		}{{OpenReadOnly, formerFormat}, {Open, formatVersion}, {OpenReadOnly, formatVersion}} {
			e, err := c.open(Config{Dir: "data", FS: fs})
			if err != nil {
				t.Fatal(err)
			}
			format, err := readSetting(e.db, metaFormat)
			if err := errors.Join(err, e.Close()); err != nil || string(format) != c.want {
				t.Errorf("format %q, %v, expected %q", format, err, c.want)
			}
		}
	})
	t.Run("other database", func(t *testing.T) {
		fs := vfs.NewMem()
		db, err := pebble.Open("data", &pebble.Options{FS: fs, Logger: pebbleLogger{slog.New(slog.DiscardHandler)}})
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		var format *FormatError
		if _, err := Open(Config{Dir: "data", FS: fs}); !errors.As(err, &format) {
			t.Errorf("Open: %v, expected a FormatError", err)
		}
	})
}

func TestOpenFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Config{Dir: file}); err == nil || errors.Is(err, ErrLocked) {
		t.Errorf("opening a file as a directory: %v", err)
	}
}

func TestBackup(t *testing.T) {
	dir := t.TempDir()
	e, err := Open(Config{Dir: filepath.Join(dir, "data")})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for i := range 50 {
		put(t, e, podKey(i%10), object(5000))
	}
	copied := filepath.Join(dir, "copy")
	if err := e.Backup(copied); err != nil {
		t.Fatal(err)
	}
	if err := e.Backup(copied); err == nil {
		t.Error("a backup went over another one")
	}
	put(t, e, "later", object(100))
	restored, err := Open(Config{Dir: copied})
	if err != nil {
		t.Fatal(err)
	}
	defer restored.Close()
	if restored.Current() != 50 || restored.ID() != e.ID() || len(e.ID()) != 32 {
		t.Errorf("the copy is at %d and is %q, expected 50 and %q", restored.Current(), restored.ID(), e.ID())
	}
	for i := range 10 {
		want, err := e.Get(context.Background(), podKey(i))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := restored.Get(context.Background(), podKey(i)); err != nil || !sameEntry(got, want) {
			t.Errorf("%s in the copy is of %d, %v; expected %d", want.Key, got.Revision, err, want.Revision)
		}
	}
	if err := restored.Check(context.Background(), func(problem string) { t.Error(problem) }); err != nil {
		t.Error(err)
	}
}

func TestStats(t *testing.T) {
	e := openMem(t)
	for i := range 10 {
		put(t, e, podKey(i), object(5000))
	}
	r, err := e.At(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	s := e.Stats()
	if s.Current != 10 || s.OpenReaders != 1 || s.DiskBytes == 0 || s.MemTableBytes == 0 {
		t.Errorf("%+v", s)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if s := e.Stats(); s.OpenReaders != 0 {
		t.Errorf("%d readers after closing the only one", s.OpenReaders)
	}
	if err := e.eachKey(e.Current(), func([]byte) {
		if s := e.Stats(); s.OpenReaders != 0 {
			t.Errorf("%d readers while the store reads for itself", s.OpenReaders)
		}
	}); err != nil {
		t.Error(err)
	}
}

// Background trimming, with the real goroutine and a fast clock.
func TestHistoryIsTrimmedInTheBackground(t *testing.T) {
	start := time.Now()
	e, err := Open(Config{Dir: "data", FS: vfs.NewMem(), History: time.Second, Clock: func() time.Time {
		return start.Add(100 * time.Since(start))
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for i := range 600 {
		put(t, e, podKey(i%7), object(100))
	}
	deadline := time.Now().Add(30 * time.Second)
	for e.Oldest() < 600 {
		if time.Now().After(deadline) {
			t.Fatalf("Oldest is %d after half a minute, expected 600", e.Oldest())
		}
		time.Sleep(time.Millisecond)
	}
	if err := e.Check(context.Background(), func(problem string) { t.Error(problem) }); err != nil {
		t.Error(err)
	}
	if n := len(scanKeys(t, e)); n != 7 {
		t.Errorf("%d keys are left, expected 7", n)
	}
}

func scanKeys(t *testing.T, e *Engine) (keys []string) {
	r, err := e.At(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Scan(context.Background(), "", "", func(e *Entry) bool { keys = append(keys, e.Key); return true }); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return keys
}
