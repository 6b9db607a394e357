package stage

import (
	"context"
	"errors"

	"github.com/capstan-dev/capstan/internal/history"
	"github.com/capstan-dev/capstan/internal/storm/record"
)

// WatchCustom watches all objects of a definition, from their state, until the server ends
// the watch or the context ends.
func (c *Client) WatchCustom(ctx context.Context, kind Kind, definition string) {
	uid := c.definition(definition)
	if uid == "" {
		return
	}
	var index int
	w := Watching{Kind: kind, Plain: true, Into: new(history.Recorder)}
	w.Opened = func(seen *history.Watch) bool {
		// The stream is of this definition when it is the same before and after.
		if c.definition(definition) != uid {
			return false
		}
		c.Journal.With(func(r *record.Record) {
			index = len(r.Streams)
			r.Streams = append(r.Streams, record.Stream{Definition: uid, Resource: kind.Resource, Watch: seen, Opened: c.Journal.Now()})
		})
		return true
	}
	seen, err := c.Watch(ctx, w)
	if seen == nil || errors.Is(err, errLeft) || ctx.Err() != nil {
		return
	}
	c.Journal.With(func(r *record.Record) {
		r.Streams[index].Ended, r.Streams[index].Whole = c.Journal.Now(), errors.Is(err, errEnded)
	})
}

// definition is the uid of a definition that is not being deleted, "" for none.
func (c *Client) definition(name string) string {
	ask := Client{Stage: c.Stage, ID: c.ID, User: c.User, Known: make(map[string]uint64), Quiet: true}
	call := ask.Do(Request{Verb: "get", Kind: KindOf("customresourcedefinitions"), Name: name})
	if call.Object == nil || call.Object.Meta.DeletionTimestamp != "" {
		return ""
	}
	return call.Object.Meta.UID
}
