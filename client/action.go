package client

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
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

// Task calls an action that is not of an object, but of a namespace or the cluster. P is the kind of its body, A that
// of its answer.
type Task[P, A Object] struct{ at *place }

// NewTask returns the client of one action of a namespace, or of the cluster.
func NewTask[P, A Object](rest *REST, row Row, namespace string) *Task[P, A] {
	checkObject[P]()
	checkObject[A]()
	return &Task[P, A]{&place{rest, row, namespace}}
}

// Call performs the action. Errors: *Error for the server's refusals.
func (t *Task[P, A]) Call(ctx context.Context, body P, o WriteOptions) (answer A, err error) {
	path, err := t.at.task()
	if err != nil {
		return answer, err
	}
	return write[A](ctx, t.at.rest, http.MethodPost, path, o.query(), body)
}

// task is the path of an action that is not of an object.
func (p *place) task() (string, error) {
	if p.row.Namespaced && p.namespace == "" {
		return "", fmt.Errorf("%s: namespace is missing: the action is of one", p.row.Plural)
	}
	return p.path(), nil
}

// StreamOptions are the options of an action that streams. The zero value leaves all to the server.
type StreamOptions struct {
	TimeoutSeconds int64 // ends the stream; 0 for the server's choice
}

func (o StreamOptions) query() url.Values {
	q := url.Values{}
	setInt(q, "timeoutSeconds", o.TimeoutSeconds)
	return q
}

// ActionStream calls an action of a resource's objects that answers with a sequence of objects.
type ActionStream[P, A Object] struct {
	at   *place
	name string
}

// NewActionStream returns the client of one action of a resource's objects.
func NewActionStream[P, A Object](rest *REST, row Row, namespace, action string) *ActionStream[P, A] {
	checkObject[P]()
	checkObject[A]()
	return &ActionStream[P, A]{&place{rest, row, namespace}, action}
}

// Call are the answers of the action on the object with that name, as they come. Leaving the loop ends the action. An
// error is the last value; *Error for the server's refusals.
//
//go:noinline
func (a *ActionStream[P, A]) Call(ctx context.Context, name string, body P, o StreamOptions) iter.Seq2[A, error] {
	path, err := a.at.object(name, a.name)
	return answers[A](ctx, a.at.rest, http.MethodPost, path, o, body, err)
}

// TaskStream calls an action that is not of an object, and answers with a sequence of objects.
type TaskStream[P, A Object] struct{ at *place }

// NewTaskStream returns the client of one action of a namespace, or of the cluster.
func NewTaskStream[P, A Object](rest *REST, row Row, namespace string) *TaskStream[P, A] {
	checkObject[P]()
	checkObject[A]()
	return &TaskStream[P, A]{&place{rest, row, namespace}}
}

// Call are the answers of the action, as they come, like those of an ActionStream.
//
//go:noinline
func (t *TaskStream[P, A]) Call(ctx context.Context, body P, o StreamOptions) iter.Seq2[A, error] {
	path, err := t.at.task()
	return answers[A](ctx, t.at.rest, http.MethodPost, path, o, body, err)
}

// Feed calls an action of a resource's objects that has no body, and answers with a sequence of objects.
type Feed[A Object] struct {
	at   *place
	name string
}

// NewFeed returns the client of one action of a resource's objects.
func NewFeed[A Object](rest *REST, row Row, namespace, action string) *Feed[A] {
	checkObject[A]()
	return &Feed[A]{&place{rest, row, namespace}, action}
}

// Call are the answers of the action on the object with that name, as they come, like those of an ActionStream.
//
//go:noinline
func (f *Feed[A]) Call(ctx context.Context, name string, o StreamOptions) iter.Seq2[A, error] {
	path, err := f.at.object(name, f.name)
	return answers[A](ctx, f.at.rest, http.MethodGet, path, o, nil, err)
}
