package request

import (
	"net/http"
	"time"

	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/metrics"
)

// Count notes the labels of an authorized request, and the begin of a long-running one.
func (env *Env) Count(r *Request) {
	r.figures = keyOfRequest(r)
	if r.lasts = r.LongRunning(); r.lasts {
		env.metrics.BeginLongRunning(&r.figures)
	}
	env.label(r)
}

// counted notes that a request has been answered, in the time that it took.
func (env *Env) counted(r *Request, took time.Duration) {
	k := r.figures
	if k.Verb == "" { // count was not reached
		k.Verb = r.knownMethod()
	}
	k.Code = r.Status
	env.metrics.End(&metrics.Request{Key: k, LongRunning: r.lasts, Took: took, Bytes: r.Bytes})
	env.cfg.Slow.ended(r, &k, took)
}

// keyOfRequest has the labels of a request without the code of its answer.
func keyOfRequest(r *Request) metrics.Key {
	t := &r.Target
	if t.Remote != nil {
		return remoteFigures(r)
	}
	k := metrics.Key{Verb: metricVerb(r)}
	if t.Row != nil {
		k.Resource = catalog.Resource{Group: t.Row.GV.Group, Version: t.Row.GV.Version, Plural: t.Row.Plural}
	}
	if t.Sub != nil {
		k.Sub = t.Sub.Name
	}
	if t.Row == nil {
		k.Sub = t.EndpointPath
	} else {
		k.Scope = scopeOf(r)
	}
	if r.Mutating() && r.Query.Get("dryRun") != "" {
		k.DryRun = true
	}
	return k
}

// scopeOf is the part of the objects that a request is for: a create is for one.
func scopeOf(r *Request) string {
	switch t := &r.Target; {
	case t.Name != "" || r.Verb() == "create":
		return "resource"
	case t.Namespace != "":
		return "namespace"
	}
	return "cluster"
}

// metricVerb is the verb of a request in upstream's metrics.
func metricVerb(r *Request) string {
	if t := &r.Target; t.Row == nil && (t.Remote == nil || t.Unserved.Resource == "") {
		return r.knownMethod()
	}
	switch v := r.Verb(); v {
	case "create":
		return "POST"
	case "update":
		return "PUT"
	case "patch":
		if r.Applies() {
			return "APPLY"
		}
		return "PATCH"
	case "delete", "deletecollection": // which the scope shows
		return "DELETE"
	case "list":
		return "LIST"
	case "watch":
		return "WATCH"
	case "get":
		return "GET"
	}
	return r.knownMethod()
}

// knownMethods are the methods that some path answers.
var knownMethods = []string{http.MethodDelete, http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodPatch, http.MethodPost, http.MethodPut}

// knownMethod is the method of a request that is not for a resource, "other" for a method
// that HTTP does not have.
func (r *Request) knownMethod() string {
	for _, m := range knownMethods {
		if m == r.HTTP.Method {
			return m
		}
	}
	return "other"
}
