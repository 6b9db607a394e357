package verbs

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/request"
)

// past scans the list's entries from its first key on. Where the client asks for the
// objects that can be read, it goes on after a record that cannot be opened, and notes it.
func (l *list) past(scan func(from string) error) error {
	if !l.skips {
		return scan(l.from)
	}
	return store.PastUnreadable(l.from, scan, func(u *store.UnreadableError) { l.skip(u.Key) })
}

func (l *list) skip(key string) {
	if at, found := slices.BinarySearch(l.skipped, key); !found {
		l.skipped = slices.Insert(l.skipped, at, key)
	}
}

// mostNamed bounds the objects that a warning names.
const mostNamed = 10

// warnSkipped reads the page once, and tells the client and the log which objects of it
// will be missing: the answer begins before the list has met them.
func (v *Verbs) warnSkipped(r *request.Request, l *list) error {
	if err := l.each(r.Context, func(*store.Entry) error { return r.Context.Err() }); err != nil {
		return err
	}
	if len(l.skipped) == 0 {
		return nil
	}
	row := r.Target.Row
	var names []string
	for _, key := range l.skipped[:min(len(l.skipped), mostNamed)] {
		namespace, name := row.SplitKey(key)
		names = append(names, strings.TrimPrefix(namespace+"/"+name, "/"))
	}
	if more := len(l.skipped) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	r.Warn(fmt.Sprintf("%s that cannot be read are not in this list: %s", row.Plural, strings.Join(names, ", ")))
	v.log.Warn("objects cannot be read and are left out of a list", "user", r.User.Name, "path", r.HTTP.URL.Path, "objects", len(l.skipped), "names", names)
	return nil
}

// discard deletes an object that cannot be read, for a client that asks for it by the query
// and has the right to do so. It reports false where the object can be read.
func (v *Verbs) discard(r *request.Request, o *objects.DeleteOptions) (done bool, err error) {
	if !r.Query.Flag(request.IgnoreReadErrors) {
		return false, nil
	}
	if o.Grace != nil || o.Propagation != "" || o.UID != nil || o.Revision != nil {
		return true, api.BadRequest("%s excludes grace periods, propagation policies and preconditions: nobody can look into the object", request.IgnoreReadErrors)
	}
	if err := v.env.MayAlso(r, "unsafe-delete-ignore-read-errors"); err != nil {
		return true, err
	}
	t := r.Target
	switch err := v.objects.Discard(r.Context, t.Ref, o.DryRun); {
	case errors.Is(err, objects.ErrReadable):
		return false, nil
	case err != nil:
		return true, err
	case !o.DryRun:
		v.log.Warn("an object that cannot be read was deleted; its finalizers and dependents were not looked at", "user", r.User.Name, "resource", t.Row.Plural,
			"namespace", t.Namespace, "name", t.Name)
	}
	return true, v.env.RespondStatus(r, http.StatusOK, request.DeletedStatus(t, store.Entry{}))
}

// readable reads the entry of one key; a list that leaves out what cannot be read has none.
func (l *list) readable(key string) (e store.Entry, err error) {
	e, err = l.reader.Get(key)
	var unreadable *store.UnreadableError
	if l.skips && errors.As(err, &unreadable) {
		l.skip(key)
		return e, store.ErrNotFound
	}
	return e, err
}
