package objects

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/selector"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// Bounds of what a hook that checks reads in one evaluation. Each Get is a comparison in a transaction of etcd, which
// has 128 at most; a list is one.
const (
	viewObjects = 1000
	viewBytes   = 16 << 20
	viewGets    = 50
)

// view shows a hook of an evaluation other objects, at one revision, and puts what it shows into the
// read set: a Get as the key, a list as the mark that all writes of its objects have.
type view struct {
	e             *Evaluation
	hook          string       // check or checkDelete
	reader        store.Reader // nil before the first read
	objects, gets int
	bytes         int
	failed        error // the first error, after which the view shows nothing
}

// close ends the view. A hook that kept it reads nothing more.
func (v *view) close() {
	if v.reader != nil {
		_ = v.reader.Close() // of a read
	}
	v.reader, v.failed = nil, errors.Join(v.failed, errViewClosed)
}

var errViewClosed = errors.New("the hook that the view was for has returned")

// Get implements api.View.
func (v *view) Get(kind, namespace, name string) (obj document.Value) {
	v.do(func() error {
		row, _, err := v.kind(kind)
		if err != nil {
			return err
		}
		if v.gets++; v.gets > viewGets {
			return fmt.Errorf("it gets more than %d objects by their names; list them", viewGets)
		}
		if catalog.BadSegment(name) || name == "" || row.Namespaced != (namespace != "") {
			return nil // there can be none
		}
		if err := v.open(0); err != nil {
			return err
		}
		entry, err := v.reader.Get(row.Key(namespace, name))
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		v.e.reads = append(v.e.reads, store.Seen{Key: row.Key(namespace, name), Revision: entry.Revision})
		if err == nil {
			obj, err = v.read(row, &entry)
			return err
		}
		return nil
	})
	return obj
}

// List implements api.View.
func (v *view) List(kind, namespace, labels, fields string) (all []document.Value) {
	v.do(func() error {
		row, own, err := v.kind(kind)
		if err != nil {
			return err
		}
		if !own {
			return fmt.Errorf("it lists objects of the kind %s, which is of another API: other servers may write them unseen; get them by their names", kind)
		}
		asked, err := selector.Parse(labels, fields)
		if err != nil {
			return err
		}
		chosen, err := asked.For(row.Resource)
		if err != nil {
			return err
		}
		if all, err = v.list(row, row.Prefix(namespace), chosen); err != nil {
			return err
		}
		v.e.reads = append(v.e.reads, store.Seen{Key: listMark(row.Prefix(namespace)), Revision: v.reader.Revision(), Mark: true})
		return nil
	})
	return all
}

// listMark is the mark of the writes of all objects whose keys have a prefix.
func listMark(prefix string) string { return "lists/" + prefix }

// do reads unless the view has failed, and keeps an error.
func (v *view) do(read func() error) {
	if v.failed != nil {
		return
	}
	if v.failed = v.e.ctx.Err(); v.failed == nil {
		v.failed = read()
	}
}

// kind is the row of a kind that the document lists in reads.
func (v *view) kind(name string) (row *catalog.Row, own bool, err error) {
	reads := v.e.stored.Row.Reads
	at := slices.IndexFunc(reads, func(k api.ReadKind) bool { return k.Kind == name })
	if at < 0 {
		return nil, false, fmt.Errorf("it reads the kind %s; add that to reads in the document of %s", name, v.e.stored.Row.Plural)
	}
	if row = v.e.s.catalog.Snapshot().Stored(reads[at].Group, reads[at].Resource); row == nil {
		return nil, false, fmt.Errorf("it reads the kind %s, which this server does not have", name)
	}
	return row, reads[at].Own, nil
}

// open opens the reader, at a revision or for 0 the newest one.
func (v *view) open(at uint64) (err error) {
	if v.reader == nil {
		v.reader, err = v.e.s.store.At(v.e.ctx, at)
	}
	return err
}

// list reads the chosen objects under a prefix, in the order of their keys.
func (v *view) list(row *catalog.Row, prefix string, chosen *selector.Selector) (all []document.Value, err error) {
	keys, found, err := v.candidates(prefix, chosen)
	if err != nil {
		return nil, err
	}
	take := func(e *store.Entry) bool {
		if !chosen.Matches(e.Key, e.Meta) {
			return true
		}
		var obj document.Value
		obj, err = v.read(row, e)
		all = append(all, obj)
		return err == nil
	}
	var visited error
	if found {
		visited = v.reader.GetEach(v.e.ctx, keys, take)
	} else if visited = v.open(0); visited == nil {
		visited = v.reader.Scan(v.e.ctx, prefix, "", take)
	}
	return all, cmp.Or(err, visited)
}

// candidates are the keys of all objects that may be chosen, by the index of headers: where that is newer than the
// view, those that have changed between. It reports false where a scan is needed.
func (v *view) candidates(prefix string, chosen *selector.Selector) (keys []string, found bool, err error) {
	if chosen.Everything() || v.e.s.cfg.Headers == nil {
		return nil, false, nil
	}
	headers, ok := v.e.s.cfg.Headers.View(v.e.ctx, prefix)
	if !ok {
		return nil, false, nil
	}
	if err := v.open(headers.Revision()); err != nil {
		var trimmed *store.TrimmedError
		if errors.As(err, &trimmed) {
			return nil, false, nil
		}
		return nil, false, err
	}
	headers.Scan(prefix, "", chosen.Bits(), func(key string, meta []byte) bool {
		if chosen.Matches(key, meta) {
			keys = append(keys, key)
		}
		return len(keys) <= viewObjects
	})
	if headers.Revision() == v.reader.Revision() {
		return keys, true, nil
	}
	_, err = v.e.s.store.Changes(v.e.ctx, prefix, v.reader.Revision(), func(c *store.Change) bool {
		keys = append(keys, strings.Clone(c.Entry.Key))
		return true
	})
	slices.Sort(keys)
	return slices.Compact(keys), true, err
}

// read decodes an object, within the bounds of the view.
func (v *view) read(row *catalog.Row, e *store.Entry) (none document.Value, err error) {
	v.objects++
	v.bytes += len(e.Body)
	switch {
	case v.objects > viewObjects:
		return none, fmt.Errorf("it reads more than %d objects; choose fewer with a selector, or count in a status that a controller keeps", viewObjects)
	case v.bytes > viewBytes:
		return none, fmt.Errorf("it reads more than %d MiB of objects; choose fewer with a selector", viewBytes>>20)
	}
	doc, err := shown(v.e.ctx, row, bytes.Clone(e.Body))
	if err != nil {
		return none, err
	}
	return v.e.Keep(doc), nil
}

// checkOthers refuses a valid object that refers to missing ones, or else is wrong next to others. In between the object gets
// the owners that it names.
func (e *Evaluation) checkOthers() (err error) {
	causes := e.checkReferences()
	if e.broken != nil {
		return e.broken
	}
	if len(causes) == 0 {
		if err := e.keepOwners(); err != nil {
			return err
		}
		if causes, err = e.checkInView(); err != nil || len(causes) == 0 {
			return err
		}
	}
	e.serveFields(e.stored, causes)
	return e.stored.Row.Invalid(e.obj.Get("metadata").Get("name").Text(), causes)
}

// checkInView runs the check hook. As with all rules, a mistake that the object had before and that the write does
// not touch is accepted.
func (e *Evaluation) checkInView() ([]api.FieldError, error) {
	hooks := e.stored.Row.Hooks
	if hooks == nil || hooks.Check == nil {
		return nil, nil
	}
	v := &view{e: e, hook: "check"}
	defer v.close()
	causes := hooks.Check(v, e.obj, e.old)
	if len(causes) > 0 && e.old.Exists() && v.failed == nil {
		causes = stillWrong(causes, e.obj, e.old, func() []api.FieldError { return hooks.Check(v, e.old, e.old) })
	}
	return causes, v.refusal()
}

// checkDelete runs the hook about deletes.
func (e *Evaluation) checkDelete() error {
	hooks := e.stored.Row.Hooks
	if hooks == nil || hooks.CheckDelete == nil {
		return nil
	}
	v := &view{e: e, hook: "checkDelete"}
	defer v.close()
	causes := hooks.CheckDelete(v, e.obj)
	if err := v.refusal(); err != nil || len(causes) == 0 {
		return err
	}
	e.serveFields(e.stored, causes)
	return &KeptError{api.Undeletable(e.Row.GroupResource(), e.Name, causes)}
}

// refusal is the error of a write whose view has failed.
func (v *view) refusal() error {
	var known *api.Error
	switch {
	case v.failed == nil:
		return nil
	case v.e.ctx.Err() != nil:
		return v.e.ctx.Err()
	case errors.As(v.failed, &known):
		return &api.Error{Code: http.StatusInternalServerError, Reason: api.ReasonInternalError, Message: v.prefix() + known.Message}
	}
	return api.Internal(v.prefix() + v.failed.Error())
}

func (v *view) prefix() string {
	return "the hook " + v.hook + " of " + v.e.stored.Row.GroupResource().String() + " fails: "
}

// checksInView reports whether a write of the row, or its delete, runs a hook that reads other objects.
func checksInView(row *catalog.Row, deletes bool) bool {
	switch {
	case row.Hooks == nil:
		return false
	case deletes:
		return row.Hooks.CheckDelete != nil
	}
	return row.Hooks.Check != nil
}
