package client

import (
	"context"
	"net/http"
)

// Subresource reads and writes a subresource that has a kind of its own (scale, eviction,
// token, …). Verbs that a subresource does not support are answered with 405.
type Subresource[P Object] struct {
	at   *place
	name string
}

// NewSubresource returns the client of one subresource of a resource's objects.
func NewSubresource[P Object](rest *REST, row Row, namespace, subresource string) *Subresource[P] {
	checkObject[P]()
	return &Subresource[P]{&place{rest, row, namespace}, subresource}
}

// Get returns the subresource of the object with that name.
func (s *Subresource[P]) Get(ctx context.Context, name string, o GetOptions) (obj P, err error) {
	path, err := s.at.object(name, s.name)
	if err != nil {
		return obj, err
	}
	return receive[P](ctx, s.at.rest, request{method: http.MethodGet, path: path, query: o.query()})
}

// Create posts to the subresource of the object with that name.
func (s *Subresource[P]) Create(ctx context.Context, name string, obj P, o WriteOptions) (P, error) {
	return writeSubresource(ctx, s, http.MethodPost, name, obj, o)
}

// Update replaces the subresource of the object with that name.
func (s *Subresource[P]) Update(ctx context.Context, name string, obj P, o WriteOptions) (P, error) {
	return writeSubresource(ctx, s, http.MethodPut, name, obj, o)
}

func writeSubresource[P Object](ctx context.Context, s *Subresource[P], method, name string, obj P, o WriteOptions) (stored P, err error) {
	path, err := s.at.object(name, s.name)
	if err != nil {
		return stored, err
	}
	return write[P](ctx, s.at.rest, method, path, o.query(), obj)
}
