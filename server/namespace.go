package server

import "github.com/capstan-dev/capstan/internal/api"

// isNamespace reports whether a resource is that of namespaces, which hold
// others and therefore go in steps: a delete makes one terminating, and the
// finalize subresource says that its content is gone.
func (s *Server) isNamespace(res *api.Resource) bool { return res == s.namespaces }
