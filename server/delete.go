package server

import (
	"errors"
	"net/http"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/objects"
)

// delete is DELETE on an object.
func (s *Server) delete(r *request) error {
	opts, err := s.readDeleteOptions(r)
	if err != nil {
		return err
	}
	t := r.target
	warnOrphans(r, &opts)
	if err := objects.CheckProtected(t.Row.Resource, t.Name); err != nil {
		return err
	}
	opts.By = r.user
	entry, gone, err := s.objects.DeleteObject(r.ctx, t.Ref, opts)
	if err != nil {
		return err
	}
	if gone && !t.Row.Storage().DeleteReturnsObject {
		return s.respondStatus(r, http.StatusOK, deletedStatus(t, entry))
	}
	code := http.StatusOK
	if !gone && opts.Cascade {
		code = http.StatusAccepted
	}
	return s.respondEntry(r, code, entry)
}

// warnOrphans adds the warning of a delete that leaves dependents behind without saying so.
func warnOrphans(r *request, o *objects.DeleteOptions) {
	if text := r.target.Row.Storage().OrphanWarning; text != "" && o.Propagation == "" {
		r.Warn(text)
	}
}

// deleteCollection is DELETE on a collection: every object that the selectors
// match, one by one.
func (s *Server) deleteCollection(r *request) error {
	which, err := r.listOptions()
	if err != nil {
		return err
	}
	opts, err := s.readDeleteOptions(r)
	if err != nil {
		return err
	}
	warnOrphans(r, &opts)
	list, err := s.openList(r, which)
	if err != nil {
		return err
	}
	defer list.close()
	t := r.target
	var names []struct{ namespace, name string }
	err = list.each(r.ctx, func(e *store.Entry) error {
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
	opts.By = r.user
	for _, n := range names {
		if _, _, err := s.objects.DeleteObject(r.ctx, objects.Ref{Row: t.Row, Namespace: n.namespace, Name: n.name}, opts); err != nil {
			var e *api.Error
			if errors.As(err, &e) && e.Reason == api.ReasonNotFound {
				continue
			}
			return err
		}
	}
	return s.respondList(r, list)
}

// readDeleteOptions takes the options from the body or, when there is none, from
// the query. A dry run is one by whichever asks for it.
func (s *Server) readDeleteOptions(r *request) (objects.DeleteOptions, error) {
	var o objects.DeleteOptions
	var causes []schema.Cause
	var err error
	if len(r.body) > 0 {
		if causes, err = s.deleteOptionsFrom(r, r.body, &o); err != nil {
			return o, err
		}
	} else {
		if o.Grace, err = r.query.integer("gracePeriodSeconds"); err != nil {
			return o, err
		}
		causes = askDelete(&o, &r.query)
	}
	dry, causes := r.query.dryRun(causes)
	o.DryRun = o.DryRun || dry
	if len(causes) > 0 {
		return o, invalidOptions("DeleteOptions", causes)
	}
	return o, nil
}

// askDelete takes the options from a query, but for the grace period and the dry run.
func askDelete(o *objects.DeleteOptions, q *query) (causes []schema.Cause) {
	if q.has("propagationPolicy") {
		causes = o.Propagate(q.get("propagationPolicy"), causes)
	}
	if q.has("orphanDependents") {
		causes = o.Orphan(q.flag("orphanDependents"), causes)
	}
	if uid := q.get("uid"); uid != "" {
		o.UID = &uid
	}
	if rv := q.get("resourceVersion"); rv != "" {
		o.Revision = &rv
	}
	return causes
}

// deleteOptionsFrom reads DeleteOptions from a body.
func (s *Server) deleteOptionsFrom(r *request, body []byte, o *objects.DeleteOptions) ([]schema.Cause, error) {
	want := s.metaKind("DeleteOptions")
	want.also = s.everywhere
	text, err := s.toJSON(r.http.Header.Get("Content-Type"), body, want)
	if err != nil {
		return nil, err
	}
	doc, err := s.decodeOptions(r, text, want)
	if err != nil {
		return nil, err
	}
	defer doc.Release()
	return o.Read(doc.Root()), nil
}

// decodeOptions decodes an options object, which may name any group version
// that has it.
func (s *Server) decodeOptions(r *request, text []byte, want bodyKind) (*document.Document, error) {
	decoder := document.Decoder{Table: want.schema.Table(), Limits: s.decodeLimits}
	doc, _, err := decoder.Decode(want.typ, text)
	if err != nil {
		return nil, api.BadRequest("the body cannot be handled as %s: %v", want.kind, err)
	}
	if kind := doc.Root().Get("kind").Text(); kind != "" && kind != want.kind {
		doc.Release()
		return nil, api.BadRequest("the body of a delete is %s, found %s", want.kind, kind)
	}
	if err := want.check(doc.Root().Get("apiVersion").Text(), ""); err != nil {
		doc.Release()
		return nil, err
	}
	return doc, nil
}
