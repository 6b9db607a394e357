package verbs

import (
	"errors"
	"net/http"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/request"
)

// Update is PUT on an object or on its status.
func (v *Verbs) Update(r *request.Request) error {
	opts, err := r.WriteOptions("UpdateOptions")
	if err != nil {
		return err
	}
	doc, err := v.readReplacement(r, opts.Validation)
	if err != nil {
		return err
	}
	r.Span.Event(storing)
	out, err := v.objects.Write(r.Context, &objects.Write{Ref: r.Target.Ref, Opts: opts, Asks: true, Change: func(e *objects.Evaluation) (document.Value, error) {
		if doc == nil { // the second time
			if doc, err = v.readReplacement(r, opts.Validation); err != nil {
				return document.Value{}, err
			}
		}
		obj := e.Keep(doc)
		doc = nil
		if err := e.MayReplace(obj.SetObject("metadata")); err != nil || e.Shown != nil {
			return obj, err
		}
		return obj, v.env.MayCreate(r)
	}})
	doc.Release()
	return v.RespondWritten(r, out, err)
}

// storing is the event before a write, in spans.
const storing = "About to store object in database"

// RespondWritten answers a write with the object.
func (v *Verbs) RespondWritten(r *request.Request, out objects.Result, err error) error {
	r.Span.Ended("Write to database call", err)
	if err != nil {
		return err
	}
	code := http.StatusOK
	if out.Created {
		code = http.StatusCreated
	}
	return v.env.RespondEntry(r, code, out.Entry)
}

// readReplacement reads the body of a PUT. The parts that equal the present object are
// not walked; a write in between does not matter, since that state was valid too.
func (v *Verbs) readReplacement(r *request.Request, validation string) (*document.Document, error) {
	res := r.Target.Row
	text, err := v.env.ToJSON(r.HTTP.Header.Get("Content-Type"), r.Body, request.KindOf(res))
	if err != nil {
		return nil, err
	}
	var old *document.Document
	switch current, err := v.part(r.Target.Row).Store.Get(r.Context, r.Key()); {
	case err == nil && res.Conversion != nil: // in another version no bytes are equal
	case err == nil:
		if old, err = document.ReadStored(res.GV.Types(), res.Type, current.Body); err != nil {
			return nil, err
		}
		defer old.Release()
	case !errors.Is(err, store.ErrNotFound):
		return nil, err
	}
	return v.env.Decode(r, text, request.KindOf(res), old.Root(), validation)
}
