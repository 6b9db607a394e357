package verbs

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/request"
)

// Create is POST on a collection.
func (v *Verbs) Create(r *request.Request) error {
	opts, err := r.WriteOptions("CreateOptions")
	if err != nil {
		return err
	}
	decode := func() (*document.Document, error) {
		return v.env.ReadObject(r, request.KindOf(r.Target.Row), opts.Validation)
	}
	doc, err := decode()
	if err != nil {
		return err
	}
	r.Span.Event(storing)
	out, err := v.objects.Write(r.Context, &objects.Write{Ref: r.Target.Ref, Opts: opts, Change: objects.NewObject(doc, decode), Creates: true})
	return v.RespondWritten(r, out, err)
}
