package server

import "context"

// Indexed reports whether the header index has the resource with a prefix.
func (s *Server) Indexed(prefix string) bool {
	_, ok := s.headers.View(context.Background(), prefix)
	return ok
}
