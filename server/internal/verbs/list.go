package verbs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/internal/selector"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/options"
	"github.com/capstan-dev/capstan/server/internal/request"
)

// ListOrWatch is GET on a collection.
func (v *Verbs) ListOrWatch(r *request.Request) error {
	if r.Query.IsWatch() {
		if res := r.Target.Row; !res.Verbs.Has(api.VerbWatch) {
			refused := api.MethodNotAllowed([]string{http.MethodGet})
			refused.Message, refused.Group, refused.Kind = fmt.Sprintf("watch is not supported on resources of kind %q", res.Plural), res.GV.Group, res.Plural
			return refused
		}
		return v.Watch(r)
	}
	options, err := listOptionsOf(r)
	if err != nil {
		return err
	}
	r.Span.Event("About to List from storage")
	list, err := v.openList(r, options)
	if err != nil {
		return err
	}
	defer list.close()
	r.Span.Event("Listing from storage done")
	if list.skips {
		if err := v.warnSkipped(r, list); err != nil {
			return err
		}
	}
	if err = v.respondList(r, list); err == nil && list.from == "" && !list.found && !list.oneKey() {
		switch {
		case list.remaining != nil:
			v.env.Sized(r, list.seen+*list.remaining)
		case list.next == "":
			v.env.Sized(r, list.seen)
		}
	}
	return err
}

// list is one page of a collection at one revision.
//
// Invariant: each can be called again and visits the same entries; only the present entry
// is in memory, and the keys of a page that the header index has found.
type list struct {
	reader    store.Reader
	selector  *selector.Selector
	prefix    string
	single    bool     // a name means one key: not for a namespaced resource in all namespaces
	found     bool     // keys is the page; otherwise it is found by scanning
	keys      []string // in order
	from      string   // first key of the page; "" for the beginning
	rest      *int64   // entries from there on, whether selected or not; nil when unknown
	limit     int64    // 0 for no limit
	next      string   // first key after the page, of whatever object; "" on the last one
	remaining *int64   // entries after the page; nil when unknown or none
	token     string   // for the next page
	seen      int64    // entries that the last scan has read
	skips     bool     // objects that cannot be read are left out
	skipped   []string // keys of the objects left out, in order
}

func (l *list) close() { _ = l.reader.Close() }

// listOptions are the options of a list.
type listOptions struct {
	selector *selector.Selector
	limit    int64 // 0 for no limit
	skips    bool  // objects that cannot be read are left out
}

// listOptionsOf reads and checks the options of a list without the revision and the page,
// which openList reads.
func listOptionsOf(r *request.Request) (o listOptions, err error) {
	q := &r.Query
	asked, err := selector.Parse(q.Get("labelSelector"), q.Get("fieldSelector"))
	if err != nil {
		return o, err
	}
	limit, err := q.Integer("limit")
	if err != nil {
		return o, err
	}
	if _, err := q.Integer("timeoutSeconds"); err != nil {
		return o, err
	}
	if causes := checkMatch(q.Get("resourceVersion"), q.Get("resourceVersionMatch"), q.Get("continue"), false); len(causes) > 0 {
		return o, request.InvalidOptions("ListOptions", causes)
	}
	if limit != nil && *limit > 0 && r.Features[options.ListChunking] {
		o.limit = *limit
	}
	o.skips = q.Flag(request.IgnoreUnreadable)
	o.selector, err = asked.For(r.Target.Row.Resource)
	return o, err
}

// openList opens the requested page of a list.
func (v *Verbs) openList(r *request.Request, o listOptions) (*list, error) {
	t, sel := r.Target, o.selector
	l := &list{selector: sel, prefix: t.Row.Prefix(t.Namespace), single: !t.Row.Namespaced || t.Namespace != "", limit: o.limit, skips: o.skips}
	if !t.Row.Stored { // a handful of objects without pages and history
		var err error
		l.reader, err = v.components(t.Row)
		l.limit = 0
		return l, err
	}
	at, err := v.listRevision(r, l)
	if err != nil {
		return nil, err
	}
	ctx := readContext(r)
	if at == 0 && l.from == "" && !l.oneKey() && !sel.Everything() && !sel.Reads() && !l.skips {
		planned, err := l.lookup(ctx, v, t.Row)
		if err != nil || planned {
			return l, err
		}
	}
	if l.reader, err = v.part(t.Row).Store.At(ctx, at); err != nil {
		return nil, readError(err, at, r.Query.Get("continue") != "")
	}
	if sel.Reads() {
		err = l.search(r.Context, v, t.Row)
	} else {
		err = l.plan(r.Context, v, r.Features[options.RemainingCount])
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// oneKey reports whether the selectors leave only one key.
func (l *list) oneKey() bool {
	_, named := l.selector.Name()
	return named && l.single
}

// sparse is the number of headers per object on the page from which the objects are read
// one by one: a get costs as much as stepping over that many objects.
const sparse = 4

// lookup finds the page in the header index, at the newest revision. It reports false
// when the index does not have the headers; then no view is open.
func (l *list) lookup(ctx context.Context, s *Verbs, row *catalog.Row) (bool, error) {
	p := s.part(row)
	view, ok := p.Headers.View(ctx, l.prefix)
	if !ok {
		return false, nil
	}
	reader, err := p.Store.At(ctx, view.Revision())
	var trimmed *store.TrimmedError
	if errors.As(err, &trimmed) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	l.reader = reader
	seen := view.Scan(l.prefix, "", l.selector.Bits(), func(key string, meta []byte) bool {
		if l.selector.Matches(key, meta) {
			l.keys = append(l.keys, key)
		}
		return l.limit == 0 || int64(len(l.keys)) < l.limit
	})
	if l.limit > 0 && int64(len(l.keys)) == l.limit {
		view.Scan(l.prefix, l.keys[l.limit-1]+"\x00", [2]uint64{}, func(key string, _ []byte) bool {
			l.next = key
			return false
		})
	}
	if l.next != "" {
		l.token = s.pages.encode(l.prefix, place{revision: reader.Revision(), key: l.next})
	}
	if l.found = len(l.keys)*sparse <= seen; !l.found {
		l.keys = nil
	}
	return true, nil
}

// readError turns the store's refusal of a revision into an answer.
func readError(err error, asked uint64, token bool) error {
	var trimmed *store.TrimmedError
	var future *store.FutureError
	switch {
	case errors.As(err, &trimmed) && token:
		return api.Expired("The provided continue parameter is too old to display a consistent list result. Start a new list without the continue parameter.")
	case errors.As(err, &trimmed):
		return api.Expired("The resourceVersion for the provided list is too old: %d, the oldest kept is %d", asked, trimmed.Oldest)
	case errors.As(err, &future):
		return api.TooLargeResourceVersion(asked, future.Current, 1)
	}
	return err
}

// listRevision applies the specification's table "Resource version rules for list", whose
// options openList has checked. It returns the exact revision to read, 0 for the newest.
func (v *Verbs) listRevision(r *request.Request, l *list) (uint64, error) {
	text, match, token := r.Query.Get("resourceVersion"), r.Query.Get("resourceVersionMatch"), r.Query.Get("continue")
	rev, set, err := api.ParseRevision(text)
	if err != nil {
		return 0, err
	}
	if token != "" && r.Features[options.ListChunking] {
		if set && rev != 0 {
			return 0, api.BadRequest("specifying resource version is not allowed when using continue")
		}
		at, err := v.pages.decode(token, l.prefix)
		if err != nil {
			return 0, err
		}
		l.from, l.rest = at.key, at.rest
		return at.revision, v.waitForRevision(r, at.revision) // another server may have given the token
	}
	if !set || rev == 0 {
		return 0, nil
	}
	if match == "Exact" || match == "" && l.limit > 0 && !l.oneKey() {
		return rev, v.waitForRevision(r, rev)
	}
	return 0, v.waitForRevision(r, rev)
}

// checkMatch checks a resourceVersionMatch.
func checkMatch(version, match, token string, watch bool) []schema.Cause {
	if match == "" {
		return nil
	}
	var causes []schema.Cause
	forbid := func(why string) {
		causes = append(causes, schema.Cause{Reason: schema.CauseForbidden, Field: "resourceVersionMatch",
			Message: "Forbidden: resourceVersionMatch is forbidden " + why})
	}
	if watch {
		forbid("for watch")
	}
	if version == "" {
		forbid("unless resourceVersion is provided")
	}
	if token != "" {
		forbid("when continue is provided")
	}
	if match != "Exact" && match != "NotOlderThan" {
		causes = append(causes, api.NotSupported("resourceVersionMatch", match, "Exact", "NotOlderThan", ""))
	}
	if match == "Exact" && version == "0" {
		forbid(`"Exact" for resourceVersion "0"`)
	}
	return causes
}

// plan finds the end of the page, so that the list's metadata can be written before its
// items. It reads only keys and headers. As in 1.25 the page after it may be empty: objects
// behind a full page are not searched for one that matches.
func (l *list) plan(ctx context.Context, s *Verbs, count bool) error {
	if l.limit == 0 || l.oneKey() {
		return nil
	}
	seen, all := int64(0), l.selector.Everything()
	err := l.past(func(from string) error {
		return l.reader.ScanMeta(ctx, l.prefix, from, func(e *store.Entry) bool {
			if seen == l.limit {
				l.next = strings.Clone(e.Key) // the entry is valid during the visit only
				return false
			}
			if all || l.selector.Matches(e.Key, e.Meta) {
				seen++
			}
			return true
		})
	})
	if err != nil || l.next == "" {
		return err
	}
	if count && all {
		var n int64
		if l.rest != nil {
			n = *l.rest - seen
		} else if n, err = l.reader.Count(ctx, l.prefix, l.next); err != nil {
			return err
		}
		l.remaining = &n
	}
	l.token = s.pages.encode(l.prefix, place{l.reader.Revision(), l.next, l.remaining})
	return nil
}

// scan visits the entries that the selectors match, from the page's first key
// on.
func (l *list) scan(ctx context.Context, visit func(*store.Entry) bool) error {
	if name, ok := l.selector.Name(); ok && l.single {
		key := l.prefix + name
		e, err := l.readable(key)
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if key >= l.from && l.selector.Matches(e.Key, e.Meta) {
			visit(&e)
		}
		return nil
	}
	all := l.selector.Everything()
	l.seen = 0
	return l.past(func(from string) error {
		return l.reader.Scan(ctx, l.prefix, from, func(e *store.Entry) bool {
			l.seen++
			if !all && !l.selector.Matches(e.Key, e.Meta) {
				return true
			}
			return visit(e)
		})
	})
}

// each visits the entries of the page, in key order. The entry is valid only
// during the visit.
func (l *list) each(ctx context.Context, visit func(*store.Entry) error) error {
	if l.found {
		return l.get(ctx, visit)
	}
	var failed error
	err := l.scan(ctx, func(e *store.Entry) bool {
		if l.next != "" && e.Key >= l.next {
			return false
		}
		failed = visit(e)
		return failed == nil
	})
	if failed != nil {
		return failed
	}
	return err
}

// get visits the entries of a page that lookup has found.
func (l *list) get(ctx context.Context, visit func(*store.Entry) error) error {
	seen := 0
	var failed error
	err := l.reader.GetEach(ctx, l.keys, func(e *store.Entry) bool {
		seen++
		failed = visit(e)
		return failed == nil
	})
	if err == nil {
		err = failed
	}
	if err == nil && seen < len(l.keys) {
		err = fmt.Errorf("%d of %d objects that the header index has are not there at %d", len(l.keys)-seen, len(l.keys), l.reader.Revision())
	}
	return err
}
