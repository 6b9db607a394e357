package store

import (
	"context"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A flipped byte on the disk fails the read that meets it, with a message, and the health
// of the store from then on.
func TestDamagedFile(t *testing.T) {
	fs := vfs.NewMem()
	cfg := Config{Dir: "data", FS: fs}
	e, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		put(t, e, podKey(i), object(2000))
	}
	if err := e.db.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	names, err := fs.List("data")
	if err != nil {
		t.Fatal(err)
	}
	flipped := 0
	for _, name := range names {
		if !strings.HasSuffix(name, ".sst") {
			continue
		}
		f, err := fs.OpenReadWrite(fs.PathJoin("data", name), "test")
		if err != nil {
			t.Fatal(err)
		}
		info, err := f.Stat()
		if err != nil {
			t.Fatal(err)
		}
		at := info.Size() * 3 / 4 // among the objects
		text := make([]byte, 20)
		if _, err := f.ReadAt(text, at); err != nil {
			t.Fatal(err)
		}
		for i := range text {
			text[i] ^= 1
		}
		if _, err := f.WriteAt(text, at); err != nil {
			t.Fatal(err)
		}
		flipped++
	}
	if flipped == 0 {
		t.Fatalf("no file to flip a byte of: %q", names)
	}
	if e, err = Open(cfg); err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := e.Healthy(); err != nil {
		t.Errorf("before anybody has met it: %v", err)
	}
	var problems []string
	if err := e.Check(context.Background(), func(problem string) { problems = append(problems, problem) }); err != nil {
		t.Errorf("the check ended: %v", err)
	}
	all := strings.Join(problems, "\n")
	if !strings.Contains(all, ".sst is damaged") || strings.Contains(all, "carrier") || strings.Count(all, "\n") != len(problems)-1 {
		t.Errorf("the check says %q", problems)
	}
	if err := e.Healthy(); err == nil || !strings.Contains(err.Error(), "is damaged; restore a backup") || e.Stats().Unhealthy == "" {
		t.Errorf("the store says %v, its figures %q", err, e.Stats().Unhealthy)
	}
	put(t, e, "other/thing", object(100)) // writes go on
}

// A start reports a log that was deleted, whether the store was closed or killed and
// whether it is opened for writing or reading; without the list the store opens as
// before.
func TestMissingLog(t *testing.T) {
	for _, killed := range []bool{false, true} {
		fs := vfs.NewCrashableMem()
		cfg := Config{Dir: "data", FS: fs, MemTableBytes: minMemTable}
		e, err := Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3000 { // enough for several logs
			put(t, e, podKey(i%50), object(1000))
		}
		current := e.Current()
		if killed {
			cfg.FS = fs.CrashClone(vfs.CrashCloneCfg{})
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		on := cfg.FS.(*vfs.MemFS)
		if e, err = OpenReadOnly(cfg); err != nil || e.Current() != current {
			t.Fatalf("killed %v: %v", killed, err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		names, err := on.List("data")
		if err != nil {
			t.Fatal(err)
		}
		missing, list := "", ""
		for _, name := range names {
			if isLog(name) {
				missing = max(missing, name)
			}
			if strings.HasPrefix(name, "marker."+logsMarker) {
				list = name
			}
		}
		if err := on.Remove(on.PathJoin("data", missing)); err != nil {
			t.Fatal(err)
		}
		for _, open := range []func(Config) (*Engine, error){Open, OpenReadOnly, Open} {
			if e, err := open(cfg); err == nil || !strings.Contains(err.Error(), "the log "+missing+" is missing") {
				t.Fatalf("killed %v, without %s: %v, %v", killed, missing, e, err)
			}
		}
		if err := on.Remove(on.PathJoin("data", list)); err != nil {
			t.Fatal(err)
		}
		if e, err = Open(cfg); err != nil {
			t.Fatalf("without the list: %v", err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
