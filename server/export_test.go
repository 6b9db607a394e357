package server

import (
	"context"
	"errors"

	"github.com/capstan-dev/capstan/internal/document"
)

// Indexed reports whether the header index has the resource with a prefix.
func (s *Server) Indexed(prefix string) bool {
	_, ok := s.headers.View(context.Background(), prefix)
	return ok
}

// LookAfter does what the server does now and then.
func (s *Server) LookAfter(ctx context.Context) error {
	return errors.Join(s.createNamespaces(ctx), s.keepOwnService(ctx), s.reconcileFlowControl(ctx), s.keepExtensionConfig(ctx), s.repairServices(ctx), s.keepAPIServices(ctx))
}

// Forge changes a stored service in a way that no request could.
func (s *Server) Forge(ctx context.Context, namespace, name string, change func(spec document.Value)) error {
	_, err := s.modify(ctx, s.services.resource, namespace, name, false, func(obj document.Value) error {
		change(obj.Get("spec"))
		return nil
	})
	return err
}

// FactTable reads a table of facts.
var FactTable = factTable
