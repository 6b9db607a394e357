package verbs

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/front"
	"github.com/capstan-dev/capstan/server/internal/objects"
)

// Create is POST on a collection.
func (v *Verbs) Create(r *front.Request) error {
	opts, err := r.WriteOptions("CreateOptions")
	if err != nil {
		return err
	}
	decode := func() (*document.Document, error) {
		return v.front.ReadObject(r, front.KindOf(r.Target.Row), opts.Validation)
	}
	doc, err := decode()
	if err != nil {
		return err
	}
	r.Span.Event(storing)
	out, err := v.objects.Write(r.Context, &objects.Write{Ref: r.Target.Ref, Opts: opts, Change: objects.NewObject(doc, decode), Creates: true})
	return v.RespondWritten(r, out, err)
}
