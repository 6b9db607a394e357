package client

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"net/http"
	"time"
)

// pageSize is the number of objects that All and Follow ask for at once.
const pageSize = 500

// All are the selected objects, read page by page: o.Limit is the size of a page, 0 for 500.
// The first error is the last value. All pages show the same moment; when the server has
// forgotten it before the last page, the error is one of IsExpired: begin again.
//
//go:noinline
func (r *Resource[P]) All(ctx context.Context, o ListOptions) iter.Seq2[P, error] {
	return func(yield func(P, error) bool) {
		for page, err := range pages(ctx, r, o) {
			if err != nil {
				var none P
				yield(none, err)
				return
			}
			for _, obj := range page.Items {
				if !yield(obj, nil) {
					return
				}
			}
		}
	}
}

func pages[P Object](ctx context.Context, r *Resource[P], o ListOptions) iter.Seq2[*List[P], error] {
	return func(yield func(*List[P], error) bool) {
		o.Limit = cmp.Or(o.Limit, pageSize)
		for {
			page, err := r.List(ctx, o)
			if !yield(page, err) || err != nil || page.Metadata.Continue == "" {
				return
			}
			o.Continue, o.ResourceVersion, o.ResourceVersionMatch = page.Metadata.Continue, "", ""
		}
	}
}

// Follow lists the selected objects and then reports their changes until ctx ends or the loop
// is left. It begins with an Added event for each object, and Synced. When the watch ends or
// breaks it goes on from the last version that it saw, of bookmarks too. If the server has
// forgotten that one, the objects are listed again, and the difference comes as events, again
// with Synced after it: the events are complete, except that an object that was deleted and
// created again meanwhile is Modified.
//
// An error is of one attempt. Follow tries again, after up to 30 seconds, unless the loop is
// left.
//
//go:noinline
func (r *Resource[P]) Follow(ctx context.Context, o ListOptions) iter.Seq2[Event[P], error] {
	return func(yield func(Event[P], error) bool) {
		follow(ctx, &follower[P]{resource: r, options: o, known: map[objectKey]P{}, yield: yield})
	}
}

// objectKey identifies an object of a resource.
type objectKey struct{ namespace, name string }

func keyOf(obj Object) objectKey {
	return objectKey{obj.GetNamespace(), obj.GetName()}
}

// follower is one loop of Follow. Its functions are not methods, see newObject.
type follower[P Object] struct {
	resource *Resource[P]
	options  ListOptions
	known    map[objectKey]P
	version  string // of the last event; "" to list
	yield    func(Event[P], error) bool
	left     bool // yield has returned false
}

// lasting is the time after which a watch counts as a success.
const lasting = 5 * time.Second

func follow[P Object](ctx context.Context, f *follower[P]) {
	wait := backoff{least: 50 * time.Millisecond, most: 30 * time.Second}
	for {
		began := time.Now()
		err := attempt(ctx, f)
		if f.left || ctx.Err() != nil {
			return
		}
		if err != nil && !IsExpired(err) && !f.yield(Event[P]{}, err) {
			return
		}
		if time.Since(began) > lasting {
			wait.next = 0
		}
		if wait.sleep(ctx) != nil {
			return
		}
	}
}

// attempt lists, if it has to, and watches until the watch ends.
func attempt[P Object](ctx context.Context, f *follower[P]) error {
	if f.version == "" {
		if err := relist(ctx, f); err != nil || f.left {
			return err
		}
	}
	err := watchOn(ctx, f)
	var refused *Error
	if errors.As(err, &refused) {
		switch refused.Code { // the version is too old, or newer than a restored server
		case http.StatusBadRequest, http.StatusNotFound, http.StatusGone, http.StatusGatewayTimeout:
			f.version = ""
		}
	}
	return err
}

// send hands an event to the loop, and reports whether it goes on.
func send[P Object](f *follower[P], t EventType, obj P) bool {
	f.left = f.left || !f.yield(Event[P]{t, obj}, nil)
	return !f.left
}

// relist reads all objects and reports the difference.
func relist[P Object](ctx context.Context, f *follower[P]) error {
	now, version := []P{}, ""
	for page, err := range pages(ctx, f.resource, f.options) {
		if err != nil {
			return err
		}
		version = page.Metadata.ResourceVersion
		now = append(now, page.Items...)
	}
	gone := maps.Clone(f.known)
	for _, obj := range now {
		key := keyOf(obj)
		old, seen := f.known[key]
		event := Added
		if seen {
			event = Modified
		}
		f.known[key] = obj
		delete(gone, key)
		if (!seen || old.GetResourceVersion() != obj.GetResourceVersion()) && !send(f, event, obj) {
			return nil
		}
	}
	for key, obj := range gone {
		delete(f.known, key)
		if !send(f, Deleted, obj) {
			return nil
		}
	}
	f.version = version
	var none P
	send(f, Synced, none)
	return nil
}

// watchOn reports changes until the watch ends.
func watchOn[P Object](ctx context.Context, f *follower[P]) error {
	o := f.options
	o.ResourceVersion, o.ResourceVersionMatch, o.Limit, o.Continue = f.version, "", 0, ""
	o.AllowWatchBookmarks, o.TimeoutSeconds = true, cmp.Or(o.TimeoutSeconds, 300+rand.Int64N(300))
	w, err := f.resource.Watch(ctx, o)
	if err != nil {
		return err
	}
	defer w.Close()
	for {
		event, err := w.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		f.version = event.Object.GetResourceVersion()
		key := keyOf(event.Object)
		switch event.Type {
		case Bookmark:
			continue
		case Deleted:
			delete(f.known, key)
		default:
			f.known[key] = event.Object
		}
		if !send(f, event.Type, event.Object) {
			return nil
		}
	}
}
