package verbs

import (
	"cmp"
	"errors"
	"net/http"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/request"
)

// Delete is DELETE on an object.
func (v *Verbs) Delete(r *request.Request) error {
	opts, err := v.readDeleteOptions(r)
	if err != nil {
		return err
	}
	t := r.Target
	warnOrphans(r, &opts)
	if err := objects.CheckProtected(t.Row.Resource, t.Name); err != nil {
		return err
	}
	if done, err := v.discard(r, &opts); done || err != nil {
		return err
	}
	opts.By, opts.Author = r.User, r
	r.Span.Event("About to delete object from database")
	entry, gone, err := v.objects.DeleteObject(r.Context, t.Ref, opts)
	if err != nil {
		return err
	}
	r.Span.Event("Object deleted from database")
	if gone && !t.Row.Storage().DeleteReturnsObject {
		return v.env.RespondStatus(r, http.StatusOK, request.DeletedStatus(t, entry))
	}
	code := http.StatusOK
	if !gone && opts.Cascade {
		code = http.StatusAccepted
	}
	return v.env.RespondEntry(r, code, entry)
}

// warnOrphans adds the warning of a delete that orphans dependents by default.
func warnOrphans(r *request.Request, o *objects.DeleteOptions) {
	if text := r.Target.Row.Storage().OrphanWarning; text != "" && o.Propagation == "" {
		r.Warn(text)
	}
}

// DeleteCollection is DELETE on a collection: every object that the selectors
// match, one by one. One that others refer to, or that the rules of its kind keep, stays, and is the answer when the others have
// gone; any other error ends the request, as in 1.25.
func (v *Verbs) DeleteCollection(r *request.Request) error {
	which, err := listOptionsOf(r)
	if err != nil {
		return err
	}
	opts, err := v.readDeleteOptions(r)
	if err != nil {
		return err
	}
	warnOrphans(r, &opts)
	list, err := v.openList(r, which)
	if err != nil {
		return err
	}
	defer list.close()
	t := r.Target
	var names []struct{ namespace, name string }
	err = list.each(r.Context, func(e *store.Entry) error {
		ns, name := t.Row.SplitKey(strings.Clone(e.Key)) // the key is valid during the visit only
		if err := objects.CheckProtected(t.Row.Resource, name); err != nil {
			return err
		}
		names = append(names, struct{ namespace, name string }{ns, name})
		return nil
	})
	if err != nil {
		return err
	}
	opts.By, opts.Author, opts.Collected = r.User, r, true
	var kept *objects.KeptError // the first
	for _, n := range names {
		_, _, err := v.objects.DeleteObject(r.Context, objects.Ref{Row: t.Row, Namespace: n.namespace, Name: n.name}, opts)
		switch refused := (*objects.KeptError)(nil); {
		case err == nil, api.IsReason(err, api.ReasonNotFound):
		case errors.As(err, &refused):
			kept = cmp.Or(kept, refused)
		default:
			return err
		}
	}
	if kept != nil {
		return kept
	}
	return v.respondList(r, list)
}

// readDeleteOptions reads the options from the body or, without one, from the query.
// Either may request a dry run.
func (v *Verbs) readDeleteOptions(r *request.Request) (objects.DeleteOptions, error) {
	var o objects.DeleteOptions
	var causes []schema.Cause
	var err error
	if len(r.Body) > 0 {
		if causes, err = v.deleteOptionsFrom(r, r.Body, &o); err != nil {
			return o, err
		}
	} else {
		if o.Grace, err = r.Query.Integer("gracePeriodSeconds"); err != nil {
			return o, err
		}
		causes = askDelete(&o, &r.Query)
	}
	dry, causes := r.Query.DryRun(causes)
	o.DryRun = o.DryRun || dry
	if len(causes) > 0 {
		return o, request.InvalidOptions("DeleteOptions", causes)
	}
	return o, nil
}

// askDelete reads the options from a query, without the grace period and the dry run.
func askDelete(o *objects.DeleteOptions, q *request.Query) (causes []schema.Cause) {
	if q.Has("propagationPolicy") {
		causes = o.Propagate(q.Get("propagationPolicy"), causes)
	}
	if q.Has("orphanDependents") {
		causes = o.Orphan(q.Flag("orphanDependents"), causes)
	}
	if q.Get("uid") != "" {
		uid := q.Get("uid")
		o.UID = &uid
	}
	if q.Get("resourceVersion") != "" {
		rv := q.Get("resourceVersion")
		o.Revision = &rv
	}
	return causes
}

// deleteOptionsFrom reads DeleteOptions from a body.
func (v *Verbs) deleteOptionsFrom(r *request.Request, body []byte, o *objects.DeleteOptions) ([]schema.Cause, error) {
	want := v.env.MetaKind("DeleteOptions")
	want.Also = request.Everywhere
	text, err := v.env.ToJSON(r.HTTP.Header.Get("Content-Type"), body, want)
	if err != nil {
		return nil, err
	}
	doc, err := v.decodeOptions(r, text, want)
	if err != nil {
		return nil, err
	}
	defer doc.Release()
	if r.Audited(true) {
		r.RecordText(recordedOptions(doc.Root()))
	}
	return o.Read(doc.Root()), nil
}

// recordedOptions are the options of a delete as 1.25 records them: it names a version
// that there is not.
func recordedOptions(options document.Value) []byte {
	options.SetString("kind", "DeleteOptions")
	options.SetString("apiVersion", "meta."+profile.GroupSuffix+"/__internal")
	return options.AppendJSON(nil)
}

// decodeOptions decodes an options object, in any group version that has it.
func (v *Verbs) decodeOptions(r *request.Request, text []byte, want request.BodyKind) (*document.Document, error) {
	decoder := document.Decoder{Table: want.Schema.Table(), Limits: v.decodeLimits}
	doc, _, err := decoder.Decode(want.Type, text)
	if err != nil {
		return nil, api.BadRequest("the body cannot be handled as %s: %v", want.Kind, err)
	}
	if kind := doc.Root().Get("kind").Text(); kind != "" && kind != want.Kind {
		doc.Release()
		return nil, api.BadRequest("the body of a delete is %s, found %s", want.Kind, kind)
	}
	if err := want.Check(doc.Root().Get("apiVersion").Text(), ""); err != nil {
		doc.Release()
		return nil, err
	}
	return doc, nil
}
