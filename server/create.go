package server

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/front"
	"github.com/capstan-dev/capstan/server/internal/objects"
)

// create is POST on a collection.
func (s *Server) create(r *front.Request) error {
	opts, err := r.WriteOptions("CreateOptions")
	if err != nil {
		return err
	}
	decode := func() (*document.Document, error) {
		return s.front.ReadObject(r, front.KindOf(r.Target.Row), opts.Validation)
	}
	doc, err := decode()
	if err != nil {
		return err
	}
	out, err := s.objects.Write(r.Context, &objects.Write{Ref: r.Target.Ref, Opts: opts, Change: objects.NewObject(doc, decode), Creates: true})
	return s.respondWritten(r, out, err)
}
