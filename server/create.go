package server

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/objects"
)

// create is POST on a collection.
func (s *Server) create(r *request) error {
	opts, err := r.writeOptions("CreateOptions")
	if err != nil {
		return err
	}
	decode := func() (*document.Document, error) { return s.readObject(r, kindOf(r.target.Row), opts.Validation) }
	doc, err := decode()
	if err != nil {
		return err
	}
	out, err := s.objects.Write(r.ctx, &objects.Write{Ref: r.target.Ref, Opts: opts, Change: objects.NewObject(doc, decode), Creates: true})
	return s.respondWritten(r, out, err)
}
