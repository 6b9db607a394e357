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
func (r Reader[T, P]) All(ctx context.Context, o ListOptions) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for page, err := range r.pages(ctx, o) {
			if err != nil {
				yield(nil, err)
				return
			}
			for i := range page.Items {
				if !yield(&page.Items[i], nil) {
					return
				}
			}
		}
	}
}

func (r Reader[T, P]) pages(ctx context.Context, o ListOptions) iter.Seq2[*List[T], error] {
	return func(yield func(*List[T], error) bool) {
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
func (r Reader[T, P]) Follow(ctx context.Context, o ListOptions) iter.Seq2[Event[T], error] {
	return func(yield func(Event[T], error) bool) {
		f := &follower[T, P]{reader: r, options: o, known: map[objectKey]*T{}, yield: yield}
		f.run(ctx)
	}
}

// objectKey identifies an object of a resource.
type objectKey struct{ namespace, name string }

func keyOf[T any, P Pointer[T]](obj *T) objectKey {
	return objectKey{P(obj).GetNamespace(), P(obj).GetName()}
}

// follower is one loop of Follow.
type follower[T any, P Pointer[T]] struct {
	reader  Reader[T, P]
	options ListOptions
	known   map[objectKey]*T
	version string // of the last event; "" to list
	yield   func(Event[T], error) bool
	left    bool // yield has returned false
}

// lasting is the time after which a watch counts as a success.
const lasting = 5 * time.Second

func (f *follower[T, P]) run(ctx context.Context) {
	wait := backoff{least: 50 * time.Millisecond, most: 30 * time.Second}
	for {
		began := time.Now()
		err := f.attempt(ctx)
		if f.left || ctx.Err() != nil {
			return
		}
		if err != nil && !IsExpired(err) && !f.yield(Event[T]{}, err) {
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
func (f *follower[T, P]) attempt(ctx context.Context) error {
	if f.version == "" {
		if err := f.list(ctx); err != nil || f.left {
			return err
		}
	}
	err := f.watch(ctx)
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
func (f *follower[T, P]) send(t EventType, obj *T) bool {
	f.left = f.left || !f.yield(Event[T]{t, obj}, nil)
	return !f.left
}

// list reads all objects and reports the difference.
func (f *follower[T, P]) list(ctx context.Context) error {
	now, version := []*T{}, ""
	for page, err := range f.reader.pages(ctx, f.options) {
		if err != nil {
			return err
		}
		version = page.Metadata.ResourceVersion
		for i := range page.Items {
			now = append(now, &page.Items[i])
		}
	}
	gone := maps.Clone(f.known)
	for _, obj := range now {
		key := keyOf[T, P](obj)
		old, event := f.known[key], Added
		if old != nil {
			event = Modified
		}
		f.known[key] = obj
		delete(gone, key)
		if (old == nil || P(old).GetResourceVersion() != P(obj).GetResourceVersion()) && !f.send(event, obj) {
			return nil
		}
	}
	for key, obj := range gone {
		delete(f.known, key)
		if !f.send(Deleted, obj) {
			return nil
		}
	}
	f.version = version
	f.send(Synced, nil)
	return nil
}

// watch reports changes until the watch ends.
func (f *follower[T, P]) watch(ctx context.Context) error {
	o := f.options
	o.ResourceVersion, o.ResourceVersionMatch, o.Limit, o.Continue = f.version, "", 0, ""
	o.AllowWatchBookmarks, o.TimeoutSeconds = true, cmp.Or(o.TimeoutSeconds, 300+rand.Int64N(300))
	w, err := f.reader.Watch(ctx, o)
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
		f.version = P(event.Object).GetResourceVersion()
		key := keyOf[T, P](event.Object)
		switch event.Type {
		case Bookmark:
			continue
		case Deleted:
			delete(f.known, key)
		default:
			f.known[key] = event.Object
		}
		if !f.send(event.Type, event.Object) {
			return nil
		}
	}
}
