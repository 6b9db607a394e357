package server

import (
	"github.com/capstan-dev/capstan/internal/document"
)

// create is POST on a collection.
func (s *Server) create(r *request) error {
	opts, err := r.writeOptions("CreateOptions")
	if err != nil {
		return err
	}
	decode := func() (*document.Document, error) { return s.readObject(r, kindOf(r.target.resource), opts.validation) }
	doc, err := decode()
	if err != nil {
		return err
	}
	out, err := s.write(r.ctx, &write{ref: r.target.ref, opts: opts, change: newObject(doc, decode), creates: true})
	return s.respondWritten(r, out, err)
}
