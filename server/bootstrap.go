package server

import (
	"context"
	"errors"
	"fmt"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
)

// systemNamespaces exist from the start.
var systemNamespaces = []string{"default", "kube-node-lease", "kube-public", "kube-system"}

// bootstrap creates what has to exist before the first request.
func (s *Server) bootstrap(ctx context.Context) error {
	for _, name := range systemNamespaces {
		if _, err := s.store.Get(ctx, keyOf(s.namespaces, "", name)); err == nil {
			continue
		} else if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		decoder := document.Decoder{Table: s.namespaces.GV.Table, Defaults: s.namespaces.GV.Defaults, Limits: s.decodeLimits}
		doc, _, err := decoder.Decode(s.namespaces.Type, []byte(`{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"`+name+`"}}`))
		if err != nil {
			return fmt.Errorf("namespace %s: %w", name, err)
		}
		_, err = s.createObject(ctx, s.namespaces, "", doc.Root(), writeOptions{})
		doc.Release()
		var taken *api.Error
		if err != nil && !(errors.As(err, &taken) && taken.Reason == api.ReasonAlreadyExists) {
			return fmt.Errorf("namespace %s: %w", name, err)
		}
	}
	return nil
}
