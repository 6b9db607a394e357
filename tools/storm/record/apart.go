package record

import (
	"cmp"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/history"
)

// Apart gives each change a revision of its own, as the promises have it, in the record of servers on
// an etcd: there the changes of one transaction share one. Quotas come before the objects that they
// are charged with.
func (r *Record) Apart() {
	a := history.NewApart(func(key string) int {
		if strings.HasPrefix(key, "resourcequotas/") {
			return 0
		}
		return 1
	})
	a.AddAll(r.History)
	for _, s := range r.Streams {
		a.AddWatch(s.Watch)
	}
	r.objects(func(o *Object) *Object {
		a.Add(o.Key(), o.Revision)
		return o
	})
	for i := range r.Calls {
		c := &r.Calls[i]
		c.Precondition = a.Change(c.Key(), c.Precondition)
	}
	r.objects(func(o *Object) *Object {
		out := *o // others may have it, too
		out.Revision = a.Change(o.Key(), o.Revision)
		return &out
	})
	r.History = a.History(r.History)
	for i := range r.Streams {
		r.Streams[i].Watch = a.Watch(r.Streams[i].Watch)
	}
	slices.SortStableFunc(r.Tape, func(a, b Event) int { return cmp.Compare(a.Revision, b.Revision) })
	r.Tape = slices.CompactFunc(r.Tape, func(a, b Event) bool { // a watch that is resumed shows some again
		return a.Revision == b.Revision && a.Key() == b.Key() && a.Type == b.Type
	})
}

// objects replaces all objects of the record, which are those of changes.
func (r *Record) objects(replace func(*Object) *Object) {
	for i := range r.Calls {
		if o := r.Calls[i].Object; o != nil {
			r.Calls[i].Object = replace(o)
		}
	}
	for i := range r.Tape {
		r.Tape[i].Object = replace(r.Tape[i].Object)
	}
	for _, all := range r.Rest {
		for i, o := range all {
			all[i] = replace(o)
		}
	}
}
