package area

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/history"
	"github.com/capstan-dev/capstan/tools/storm/program"
	"github.com/capstan-dev/capstan/tools/storm/record"
	"github.com/capstan-dev/capstan/tools/storm/stage"
)

const operateName = "operate"

// operate is the area of what operators do while others write: backups, migrations, new
// keys of the store, certificates and levels of the log; and of revisions that are about to be trimmed.
func operate() Area {
	return Area{Name: operateName, Weight: 1, Do: doOperate, Rest: restOperate, Draw: func(r *rand.Rand) program.Step {
		return pick(r, weighted{"backup", 3}, weighted{"migrate", 2}, weighted{"rotate", 3}, weighted{"certify", 2}, weighted{"verbosity", 1},
			weighted{"past", 10}, weighted{"resume", 6})
	}}
}

// History is the time for which the server keeps old revisions in a storm of some areas:
// shorter than the storm where operators are.
func History(areas []string) time.Duration {
	if slices.Contains(areas, operateName) {
		return 20 * time.Second
	}
	return 2 * time.Minute
}

func doOperate(ctx context.Context, c *stage.Client, s program.Step) {
	past := uint64(0)
	for _, revision := range c.Known {
		if past == 0 || revision < past {
			past = revision
		}
	}
	w := stage.Watching{Kind: stage.KindOf(of(s.A, "configmaps", "podtemplates", "services")), Into: &c.Journal.Recorder}
	switch s.Op {
	case "past":
		if w.At = past; past > 0 {
			c.List(w, 0)
		}
	case "resume":
		if w.From, w.Most = past, 2+s.B%40; past > 0 {
			c.Follow(func() { c.Chain(ctx, w, 1) })
		}
	default:
		c.Alone(operateName, func() { command(c, s.Op, s.C) })
	}
}

// command is one of the operator's.
func command(c *stage.Client, op string, n int) {
	switch op {
	case "backup":
		if !c.Memory {
			backup(c, fmt.Sprint("backup-", n, "-", c.Mark()))
		}
	case "migrate":
		if !c.Memory {
			migrate(c)
		}
	case "rotate":
		if err := c.Rotate(false); err != nil {
			c.Probe("operated", "%v", err)
		}
		c.Hangup()
	case "verbosity":
		if code, text, err := c.Send(http.MethodPut, "/debug/flags/v", "", of(n, "4", "0")); code != http.StatusOK {
			c.Probe("operated", "a change of the verbosity is answered %d %s %v", code, text, err)
		}
	case "certify":
		number, err := c.Certify()
		if err != nil {
			c.Probe("operated", "%v", err)
			return
		}
		c.Hangup()
		if !eventually(func() bool { now := c.Certificate(); return now != nil && now.Cmp(number) == 0 }) {
			c.Probe("operated", "a new certificate is not shown after %s", goneLimit)
		}
	}
}

// backup copies the store and looks into the copy.
func backup(c *stage.Client, name string) {
	notBefore := c.Journal.Recorder.Newest()
	to := filepath.Join(c.Dir, name)
	if out, err := c.Command("store", "backup", "--data-dir", c.DataDir(), "--to", to); err != nil {
		c.Probe("copied", "the backup failed: %v: %s", err, out)
		return
	}
	if out, err := c.Command("store", "check", "--backup", to); err != nil {
		c.Probe("copied", "the check of %s: %v: %s", to, err, out)
	}
	b, err := c.ReadBackup(to)
	if err != nil {
		c.Probe("copied", "%s cannot be opened: %v", to, err)
		return
	}
	b.Name, b.NotBefore = name, notBefore
	c.Journal.With(func(r *record.Record) { r.Backups = append(r.Backups, b) })
}

// migrate rewrites objects that are stored in an earlier form, and returns the output of
// the command.
func migrate(c *stage.Client) string {
	c.Journal.With(func(r *record.Record) { r.Migrated = true })
	out, err := c.Command("store", "migrate", "--data-dir", c.DataDir())
	if err != nil && !strings.Contains(out, "its definition has changed again and again") {
		c.Probe("operated", "the migration failed: %v: %s", err, out)
	}
	return out
}

// restOperate rotates the keys once more, and forgets all earlier ones after a migration:
// everything is readable, and a further migration has nothing to do.
func restOperate(ctx context.Context, c *stage.Client) {
	if c.Memory {
		return
	}
	reload := func(forget bool) {
		before := c.Reloads(ctx)
		if err := c.Rotate(forget); err != nil {
			c.Probe("operated", "%v", err)
		}
		c.Hangup()
		if !eventually(func() bool { return c.Reloads(ctx) > before }) {
			c.Probe("operated", "the server does not use a new key of the store after %s", goneLimit)
		}
	}
	reload(false)
	migrate(c)
	if out := migrate(c); !strings.HasSuffix(out, " 0 of them were rewritten") {
		c.Probe("operated", "a second migration at rest says: %s", out)
	}
	reload(true)
	for _, resource := range []string{"configmaps", "podtemplates"} {
		list, items := c.List(stage.Watching{Kind: stage.KindOf(resource), Into: new(history.Recorder)}, 0)
		if list == nil {
			code, text, err := c.Send(http.MethodGet, stage.KindOf(resource).Path(""), "", nil)
			c.Probe("operated", "%s cannot be read with the new key: %d %s %v", resource, code, text, err)
		}
		for _, o := range items {
			if call := c.Do(stage.Request{Verb: "get", Kind: stage.KindOf(resource), Namespace: o.Meta.Namespace, Name: o.Meta.Name}); call.Code >= 500 {
				c.Probe("operated", "%s cannot be read with the new key: %d %s", o.Key(), call.Code, call.Message)
			}
		}
	}
	c.Alone(operateName+" at rest", func() { command(c, "backup", 0) })
}
