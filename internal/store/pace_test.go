package store

import (
	"crypto/rand"
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestProgress: a restore copies its files and then checks them. Each work grows up to its total.
func TestProgress(t *testing.T) {
	fs := vfs.NewMem()
	e, err := Open(Config{Dir: "a", FS: fs, MemTableBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	body := make([]byte, 8<<10) // which cannot be packed
	_, _ = rand.Read(body)      // never fails
	for i := range 1000 {
		put(t, e, fmt.Sprint("core/pods/", i), Value{Meta: []byte("m"), Body: body, RevisionAt: -1})
	}
	if err := e.db.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := e.Backup("b"); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	type state struct {
		work        string
		done, total int64
	}
	var all []state
	config := Config{Dir: "c", FS: fs, Progress: func(work, unit string, done, total int64) {
		if unit != "bytes" {
			t.Errorf("unit %q", unit)
		}
		all = append(all, state{work, done, total})
	}}
	if err := Restore(t.Context(), config, "b", 10); err != nil {
		t.Fatal(err)
	}
	var works []string
	for i, s := range all {
		if i == 0 || all[i-1].work != s.work {
			works = append(works, s.work)
		} else if s.done < all[i-1].done || s.total != all[i-1].total {
			t.Errorf("%+v follows %+v", s, all[i-1])
		}
		if s.done > s.total || s.total < 1<<20 {
			t.Errorf("%+v", s)
		}
	}
	if got := fmt.Sprint(works); got != "[copying files checking]" {
		t.Errorf("works %s", got)
	}
}

// TestPace: a check is at zero at its beginning and at its total at its end.
func TestPace(t *testing.T) {
	e := openMem(t)
	fill(t, e, 3000, 2000)
	var done, total int64
	e.cfg.Progress = func(_, _ string, d, t int64) { done, total = d, t }
	p := newPace(e)
	p.at(checkPasses[0], []byte{checkPasses[0]})
	if done > total/10 { // a block counts whole
		t.Errorf("the beginning is %d of %d", done, total)
	}
	for _, space := range checkPasses {
		p.end(space)
	}
	if p.done != total {
		t.Errorf("the end is %d of %d", p.done, total)
	}
}
