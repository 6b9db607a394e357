package server

import (
	"net/http"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
)

func (s *Server) isNamespace(res *api.Resource) bool { return res == s.namespaces }

// finalizeNamespace is PUT on namespaces/NAME/finalize: the one way to change
// spec.finalizers, by which the keepers of a namespace's content say that they
// are done.
func (s *Server) finalizeNamespace(r *request) error {
	opts, err := r.query.writeOptions("UpdateOptions")
	if err != nil {
		return err
	}
	sent, err := s.readObject(r, kindOf(s.namespaces), opts.validation)
	if err != nil {
		return err
	}
	defer sent.Release()
	if err := matchName(sent.Root().SetObject("metadata"), r.target.name); err != nil {
		return err
	}
	var doc *document.Document
	defer func() {
		if doc != nil {
			doc.Release()
		}
	}()
	entry, err := s.transact(r.ctx, r.target, opts.dryRun, func(current *store.Entry) (document.Value, error) {
		if current == nil {
			return document.Value{}, api.NotFound(s.namespaces.GroupResource(), r.target.name)
		}
		var err error
		if doc, err = document.ReadStored(s.namespaces.GV.Table, s.namespaces.Type, current.Body); err != nil {
			return document.Value{}, err
		}
		obj := doc.Root()
		if err := checkPreconditions(s.namespaces, r.target.name, sent.Root().Get("metadata"), obj.Get("metadata")); err != nil {
			return document.Value{}, err
		}
		spec := obj.SetObject("spec")
		spec.Put("finalizers", sent.Root().At("spec", "finalizers"))
		return obj, nil
	})
	if err != nil {
		return err
	}
	return s.respondEntry(r, http.StatusOK, entry)
}
