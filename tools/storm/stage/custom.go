package stage

import (
	"context"
	"errors"

	"github.com/capstan-dev/capstan/internal/history"
	"github.com/capstan-dev/capstan/tools/storm/record"
)

// WatchCustom watches all objects of a definition, from their state, until the server ends
// the watch or the context ends.
func (c *Client) WatchCustom(ctx context.Context, kind Kind, definition string) {
	if uid := c.Definition(definition); uid != "" {
		c.WatchCustomOf(ctx, kind, definition, uid, make(chan bool, 1))
	}
}

// WatchCustomOf is WatchCustom of the definition with a uid. It tells opened whether the server
// has begun to answer. The definition may be deleted meanwhile; not so another one made in
// its place, whose watch this might be.
func (c *Client) WatchCustomOf(ctx context.Context, kind Kind, definition, uid string, opened chan<- bool) {
	var index int
	w := Watching{Kind: kind, Plain: true, Into: new(history.Recorder)}
	w.Opened = func(seen *history.Watch) bool {
		opened <- true
		if call := c.ask(definition); call.Object != nil && call.Object.Meta.UID != uid {
			return false
		}
		c.Journal.With(func(r *record.Record) {
			index = len(r.Streams)
			r.Streams = append(r.Streams, record.Stream{Definition: uid, Resource: kind.Resource, Watch: seen, Opened: c.Journal.Now()})
		})
		return true
	}
	seen, err := c.Watch(ctx, w)
	if seen == nil {
		select {
		case opened <- false:
		default: // it was opened, and left
		}
		return
	}
	if errors.Is(err, errLeft) || ctx.Err() != nil {
		return
	}
	c.Journal.With(func(r *record.Record) {
		r.Streams[index].Ended, r.Streams[index].Whole = c.Journal.Now(), errors.Is(err, errEnded)
	})
}

// Definition is the uid of a definition that is not being deleted, "" for none.
func (c *Client) Definition(name string) string {
	call := c.ask(name)
	if call.Object == nil || call.Object.Meta.DeletionTimestamp != "" {
		return ""
	}
	return call.Object.Meta.UID
}

// ask reads a definition.
func (c *Client) ask(name string) record.Call {
	ask := Client{Stage: c.Stage, ID: c.ID, User: c.User, Known: make(map[string]uint64), Quiet: true}
	return ask.Do(Request{Verb: "get", Kind: KindOf("customresourcedefinitions"), Name: name})
}
