package area

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/capstan-dev/capstan/tools/storm/record"
	"github.com/capstan-dev/capstan/tools/storm/stage"
)

// writable makes and deletes an object of a kind at rest. A definition may have been made
// just now, so the kind may be unknown for a moment; and a machine that does much else may
// be slow once, but not every time.
func writable(ctx context.Context, c *stage.Client, kind stage.Kind) bool {
	q := stage.Request{Kind: kind, Namespace: Spaces[0], Name: "probe"}
	body := object{"apiVersion": kind.APIVersion(), "kind": kind.Kind, "metadata": object{"name": "probe"}}
	last := ""
	for try := 0; try < 3 && ctx.Err() == nil; try++ {
		began := time.Now()
		q.Verb, q.Body = "create", body
		made := c.Do(q)
		for made.Code == http.StatusNotFound && time.Since(began) < writableLimit {
			time.Sleep(10 * time.Millisecond)
			made = c.Do(q)
		}
		q.Verb, q.Body = "delete", nil
		took := time.Since(began)
		if c.Do(q).Done() && made.Done() && took < writableLimit {
			return true
		}
		last = fmt.Sprintf("%d after %s: %s", made.Code, took.Round(time.Millisecond), made.Message)
		if took > 5*time.Second {
			break // it hangs
		}
	}
	if ctx.Err() == nil {
		c.Probe("writable", "a write to %s at rest: %s", kind.Resource, last)
	}
	return false
}

// first names the first of some objects.
func first(objects []*record.Object) string {
	if len(objects) == 0 {
		return "none"
	}
	o := objects[0]
	return fmt.Sprintf("%s@%d with uid %s", o.Key(), o.Revision, o.Meta.UID)
}
