package compat

import (
	"context"

	"github.com/capstan-dev/capstan/generator/internal/foreign"
)

// server reads the surface of a running server: its OpenAPI 3 documents, and the names in
// its discovery.
func (s Source) server(ctx context.Context, url string) (*Surface, error) {
	served, err := foreign.Fetch(ctx, url, s.Kubeconfig, s.Context)
	if err != nil {
		return nil, err
	}
	surface := newSurface(url, 0)
	for _, one := range served {
		m := &manifest{File: one.File, done: map[string]*shape{}}
		m.openAPI(surface, one.Roots[0])
		if err := one.Err(); err != nil {
			return nil, err
		}
		v := surface.served(one.Group, one.Version)
		for _, r := range one.Resources {
			surface.knows |= facetNames
			if to := v.resource(r.Name); to != nil {
				r.Rename(to)
			}
		}
	}
	surface.mark()
	return surface, nil
}
