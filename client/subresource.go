package client

import (
	"context"
	"net/http"
)

// Subresource reads and writes a subresource that has a kind of its own (scale, eviction,
// token, …). Verbs that a subresource does not support are answered with 405.
type Subresource[T any, P Pointer[T]] struct {
	rest      *REST
	row       Row
	namespace string
	name      string
}

// NewSubresource returns the client of one subresource of a resource's objects.
func NewSubresource[T any, P Pointer[T]](rest *REST, row Row, namespace, subresource string) Subresource[T, P] {
	return Subresource[T, P]{rest, row, namespace, subresource}
}

// Get returns the subresource of the object with that name.
func (s Subresource[T, P]) Get(ctx context.Context, name string, o GetOptions) (*T, error) {
	path, err := s.row.object(s.namespace, name, s.name)
	if err != nil {
		return nil, err
	}
	out := new(T)
	if err := s.rest.do(ctx, request{method: http.MethodGet, path: path, query: o.query()}, out); err != nil {
		return nil, err
	}
	return out, nil
}

// Create posts to the subresource of the object with that name.
func (s Subresource[T, P]) Create(ctx context.Context, name string, obj *T, o WriteOptions) (*T, error) {
	return s.write(ctx, http.MethodPost, name, obj, o)
}

// Update replaces the subresource of the object with that name.
func (s Subresource[T, P]) Update(ctx context.Context, name string, obj *T, o WriteOptions) (*T, error) {
	return s.write(ctx, http.MethodPut, name, obj, o)
}

func (s Subresource[T, P]) write(ctx context.Context, method, name string, obj *T, o WriteOptions) (*T, error) {
	path, err := s.row.object(s.namespace, name, s.name)
	if err != nil {
		return nil, err
	}
	P(obj).SetKind()
	out := new(T)
	if err := s.rest.write(ctx, method, path, o.query(), obj, out); err != nil {
		return nil, err
	}
	return out, nil
}
