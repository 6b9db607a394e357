package client

import (
	"context"
	"net/http"
)

// Action calls an action of a resource's objects: an operation that is not a verb. P is the kind of its body, A that
// of its answer.
type Action[P, A Object] struct {
	at   *place
	name string
}

// NewAction returns the client of one action of a resource's objects.
func NewAction[P, A Object](rest *REST, row Row, namespace, action string) *Action[P, A] {
	checkObject[P]()
	checkObject[A]()
	return &Action[P, A]{&place{rest, row, namespace}, action}
}

// Call performs the action on the object with that name. Errors: *Error for the server's refusals.
func (a *Action[P, A]) Call(ctx context.Context, name string, body P, o WriteOptions) (answer A, err error) {
	path, err := a.at.object(name, a.name)
	if err != nil {
		return answer, err
	}
	return write[A](ctx, a.at.rest, http.MethodPost, path, o.query(), body)
}
