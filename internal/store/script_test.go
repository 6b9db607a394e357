package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// script is a store for the commands of a file in testdata.
type script struct {
	t     *testing.T
	e     *Engine
	fs    vfs.FS
	now   time.Time
	views map[string]Reader
}

// TestScripts runs the files in testdata. Commands, all on keys and bodies that
// are short words:
//
//	put KEY BODY     create or update      delete KEY      tree      what the tree holds
//	view r=N | name  contents at N         hold name=V     open a view and keep it
//	feed after=N     changes               trim to=N       explicit trim
//	tick by=D        time passes, the background step runs
//	step             one step of an interrupted sweep
//	reopen, check
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/script", func(t *testing.T, path string) {
		s := &script{t: t, fs: vfs.NewMem(), now: time.Unix(1000, 0), views: map[string]Reader{}}
		s.open()
		datadriven.RunTest(t, path, s.run)
		if err := s.e.Close(); err != nil {
			t.Error(err)
		}
	})
}

func (s *script) open() {
	e, err := Open(Config{Dir: "data", FS: s.fs, History: time.Minute, Clock: func() time.Time { return s.now }})
	if err != nil {
		s.t.Fatal(err)
	}
	// The scripts run the steps of the background goroutine themselves.
	e.stop()
	<-e.stopped
	s.e = e
}

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	var out strings.Builder
	err := s.command(&out, d)
	if err != nil {
		fmt.Fprintf(&out, "error: %v\n", err)
	}
	return out.String()
}

func (s *script) command(out *strings.Builder, d *datadriven.TestData) error {
	ctx := context.Background()
	number := func(name string) (n uint64) {
		d.ScanArgs(s.t, name, &n)
		return n
	}
	switch d.Cmd {
	case "put":
		for line := range strings.Lines(d.Input) {
			key, body, _ := strings.Cut(strings.TrimSpace(line), " ")
			e := put(s.t, s.e, key, Value{Body: []byte(body), RevisionAt: -1})
			fmt.Fprintf(out, "%d\n", e.Revision)
		}
	case "delete":
		e, err := s.e.Update(ctx, strings.TrimSpace(d.Input), func(*Entry) (Write, error) {
			return Write{Op: OpDelete, Value: Value{Body: []byte("last"), RevisionAt: -1}}, nil
		})
		fmt.Fprintf(out, "%d\n", e.Revision)
		return err
	case "tree":
		return s.tree(out)
	case "view":
		if d.HasArg("name") {
			var name string
			d.ScanArgs(s.t, "name", &name)
			return showView(out, s.views[name])
		}
		r, err := s.e.At(ctx, number("r"))
		if err != nil {
			return err
		}
		return errors.Join(showView(out, r), r.Close())
	case "hold":
		var name string
		d.ScanArgs(s.t, "name", &name)
		r, err := s.e.At(ctx, 0)
		s.views[name] = r
		return err
	case "feed":
		to, err := s.e.Changes(ctx, "", number("after"), func(c *Change) bool {
			fmt.Fprintf(out, "%d: %s %s=%s, before %d=%s\n", c.Entry.Revision, opNames[c.Op], c.Entry.Key, c.Entry.Body, c.Prev.Revision, c.Prev.Body)
			return true
		})
		if err == nil {
			fmt.Fprintf(out, "up to %d\n", to)
		}
		return err
	case "trim":
		return s.e.Trim(ctx, number("to"))
	case "only-refuse":
		// The state that a crash between the two steps of a trim leaves.
		b := s.e.db.NewBatch()
		if err := setRevision(b, metaOldest, number("to")); err != nil {
			return err
		}
		return s.e.applySynced(b)
	case "tick":
		var by string
		d.ScanArgs(s.t, "by", &by)
		passed, err := time.ParseDuration(by)
		if err != nil {
			return err
		}
		s.now = s.now.Add(passed)
		err = s.e.tick(ctx)
		fmt.Fprintf(out, "current %d, oldest %d, samples %v\n", s.e.Current(), s.e.Oldest(), s.sampleTexts())
		return err
	case "reopen":
		if err := s.e.Close(); err != nil {
			return err
		}
		s.open()
	case "check":
		return s.e.Check(ctx, func(problem string) { fmt.Fprintln(out, problem) })
	case "damage":
		return s.damage(d)
	default:
		return fmt.Errorf("unknown command %q", d.Cmd)
	}
	return nil
}

var opNames = map[Op]string{OpCreate: "create", OpUpdate: "update", OpDelete: "delete"}

func (s *script) sampleTexts() (texts []string) {
	for _, x := range s.e.trim.samples {
		texts = append(texts, fmt.Sprintf("%d at %ds", x.revision, x.nanoseconds/1e9))
	}
	return texts
}

func showView(out *strings.Builder, r Reader) error {
	return r.Scan(context.Background(), "", "", func(e *Entry) bool {
		fmt.Fprintf(out, "%s@%d=%s\n", e.Key, e.Revision, e.Body)
		return true
	})
}

// tree shows the versions and the log in the tree.
func (s *script) tree(out *strings.Builder) error {
	it, err := s.e.db.NewIter(nil)
	if err != nil {
		return err
	}
	for valid := it.First(); valid; valid = it.Next() {
		switch it.Key()[0] {
		case logSpace:
			revision, r, err := readRecord(it)
			if err != nil {
				return errors.Join(err, it.Close())
			}
			fmt.Fprintf(out, "log %d: %s %s before %d\n", revision, opNames[r.op], r.key, r.prev)
		case objectSpace:
			v, err := parseVersion(it.Key())
			if err != nil {
				return errors.Join(err, it.Close())
			}
			mark := ""
			if v.tombstone {
				mark = " deleted"
			}
			fmt.Fprintf(out, "%s@%d%s\n", v.key, v.revision, mark)
		case headerSpace:
			v, err := parseVersion(it.Key())
			if err != nil {
				return errors.Join(err, it.Close())
			}
			fmt.Fprintf(out, "header %s@%d\n", v.key, v.revision)
		}
	}
	return it.Close()
}

// damage deletes or writes a key without the store's knowledge.
func (s *script) damage(d *datadriven.TestData) error {
	var what, key string
	var revision uint64
	d.ScanArgs(s.t, "what", &what)
	d.ScanArgs(s.t, "r", &revision)
	if d.HasArg("key") {
		d.ScanArgs(s.t, "key", &key)
	}
	db := s.e.db
	switch what {
	case "delete-log":
		return db.Delete(appendLog(nil, revision), pebble.NoSync)
	case "delete-version":
		return db.Delete(appendVersion(nil, objectSpace, key, revision), pebble.NoSync)
	case "add-version":
		return db.Set(appendVersion(nil, objectSpace, key, revision), []byte{0}, pebble.NoSync)
	case "add-tombstone":
		return db.Set(appendTombstone(nil, objectSpace, key, revision), []byte{0}, pebble.NoSync)
	case "add-log":
		return db.Set(appendLog(nil, revision), appendRecord(nil, OpUpdate, revision, key), pebble.NoSync)
	case "delete-header":
		return db.Delete(appendVersion(nil, headerSpace, key, revision), pebble.NoSync)
	case "add-header":
		return db.Set(appendVersion(nil, headerSpace, key, revision), []byte("x"), pebble.NoSync)
	case "bad-value":
		return db.Set(appendVersion(nil, objectSpace, key, revision), []byte{9}, pebble.NoSync)
	case "swept":
		b := db.NewBatch()
		if err := setRevision(b, metaSwept, revision); err != nil {
			return err
		}
		return db.Apply(b, pebble.NoSync)
	}
	return fmt.Errorf("unknown damage %q", what)
}
