package server

import (
	"errors"

	"github.com/capstan-dev/capstan/internal/apply"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// serverManager is the manager of what the server writes of its own accord.
const serverManager = "kube-apiserver"

// fieldWrite says in whose name and where a write happens.
func (s *Server) fieldWrite(t ref, opts writeOptions) apply.Write {
	w := apply.Write{Manager: opts.manager, Subresource: opts.subresource, Time: s.now(), Reset: t.resource.Ownership().Reset(t.sub)}
	if w.Manager == "" {
		w.Manager = serverManager
	}
	if t.sub != nil {
		w.Subresource = t.sub.Name
	}
	return w
}

// own records in obj who owns what, after a write that is not an apply. old is the
// object that it replaces, absent on create.
func (s *Server) own(t ref, old, obj document.Value, opts writeOptions) error {
	if opts.applied {
		return nil
	}
	return t.resource.Ownership().Kind.Update(old, obj, s.fieldWrite(t, opts))
}

// decodeOwn reads an object that the server itself makes. It need not say of which
// kind it is.
func (s *Server) decodeOwn(res *catalog.Row, text []byte) (*document.Document, error) {
	decoder := document.Decoder{Table: res.GV.Types(), Defaults: res.GV.Defaults, Limits: s.decodeLimits}
	doc, _, err := decoder.Decode(res.Type, text)
	if err != nil {
		return nil, err
	}
	doc.Root().SetString("kind", res.Kind)
	doc.Root().SetString("apiVersion", res.GV.APIVersion())
	return doc, nil
}

// errNothing leaves a transaction that has nothing to write.
var errNothing = errors.New("nothing to write")
