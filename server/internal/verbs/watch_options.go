package verbs

import (
	"math/rand/v2"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/internal/selector"
	"github.com/capstan-dev/capstan/server/internal/request"
)

// watchOptions are the options of a watch, from the query.
type watchOptions struct {
	selector  *selector.Selector
	revision  uint64
	initial   bool // begin with the state as ADDED events
	endMark   bool // close the initial events with a marked bookmark
	bookmarks bool
	timeout   time.Duration
}

// watchOptions reads the query. Where a watch begins:
//
//	sendInitialEvents  resourceVersion unset     0            n
//	absent             state, newest             state, any   changes after n
//	true               state, newest             state, any   state, not older than n
//	false              changes from now          from now     changes after n
//
// The state that is read here is always the newest.
func (v *Verbs) watchOptions(r *request.Request) (o watchOptions, err error) {
	q := &r.Query
	fields := q.Get("fieldSelector")
	if name := r.Target.Name; name != "" {
		if fields != "" {
			fields += ","
		}
		fields += "metadata.name=" + name
	}
	selectors, err := selector.Parse(q.Get("labelSelector"), fields)
	if err != nil {
		return o, err
	}
	if _, err := q.Integer("limit"); err != nil { // it has no effect here, but must be a number
		return o, err
	}
	if o.timeout, err = v.Time(r); err != nil {
		return o, err
	}
	asked := q.Has("sendInitialEvents")
	match, token := q.Get("resourceVersionMatch"), q.Get("continue")
	var causes []schema.Cause
	if asked || v.cfg.Since("1.27") {
		causes = checkInitialMatch(match, token, asked)
	} else {
		causes = checkMatch(q.Get("resourceVersion"), match, token, true)
	}
	if len(causes) > 0 {
		return o, request.InvalidOptions("ListOptions", causes)
	}
	if o.selector, err = selectors.For(r.Target.Row.Resource); err != nil {
		return o, err
	}
	rev, set, err := api.ParseRevision(q.Get("resourceVersion"))
	if err != nil {
		return o, err
	}
	o.revision, o.initial = rev, !set || rev == 0
	o.bookmarks = q.Flag("allowWatchBookmarks")
	if asked {
		o.initial = q.Flag("sendInitialEvents")
		if rev == 0 {
			o.revision = v.part(r.Target.Row).Store.Current()
		}
		o.endMark = o.initial && o.bookmarks
	}
	return o, nil
}

// Time is the time that a watch or another stream may last: what the request says, or else the server's choice.
func (v *Verbs) Time(r *request.Request) (time.Duration, error) {
	seconds, err := r.Query.Integer("timeoutSeconds")
	if err != nil || seconds == nil || *seconds <= 0 {
		return v.cfg.MinRequestTimeout + rand.N(v.cfg.MinRequestTimeout+1), err
	}
	return time.Duration(min(*seconds, longestWatch)) * time.Second, nil
}

// longestWatch is a bound that no watch reaches, in seconds: 100 years.
const longestWatch = 100 * 365 * 24 * 60 * 60

// checkInitialMatch checks the resourceVersionMatch of a watch with sendInitialEvents.
// Another watch has none.
func checkInitialMatch(match, token string, asked bool) (causes []schema.Cause) {
	forbid := func(why string) {
		causes = append(causes, schema.Cause{Reason: schema.CauseForbidden, Field: "resourceVersionMatch", Message: "Forbidden: " + why})
	}
	switch {
	case asked && match != "NotOlderThan":
		forbid("sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")
	case !asked && match != "":
		forbid("resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")
	}
	if match != "" && match != "NotOlderThan" {
		causes = append(causes, api.NotSupported("resourceVersionMatch", match, "NotOlderThan"))
	}
	if match != "" && token != "" {
		forbid("resourceVersionMatch is forbidden when continue is provided")
	}
	return causes
}
