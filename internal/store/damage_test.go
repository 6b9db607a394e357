package store

import (
	"context"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A byte that has flipped on the disk is told by whoever meets it, in words, and by
// the health of the store from then on.
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
	put(t, e, "other/thing", object(100)) // goes on
}
