package server

import (
	"context"
	"errors"
)

// Indexed reports whether the header index has the resource with a prefix.
func (s *Server) Indexed(prefix string) bool {
	_, ok := s.headers.View(context.Background(), prefix)
	return ok
}

// LookAfter does what the server does now and then.
func (s *Server) LookAfter(ctx context.Context) error {
	return errors.Join(s.createNamespaces(ctx), s.keepOwnService(ctx), s.reconcileFlowControl(ctx))
}
