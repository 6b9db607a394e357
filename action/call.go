package action

import (
	"context"
	"encoding/json"

	"github.com/capstan-dev/capstan/internal/api"
)

// User is the user of a call.
type User = api.ActionUser

// View is a call of an action that only reads. T is the type of the object in Go.
type View[T any] struct{ call api.ActionCall }

// Namespace is that of the object, "" for cluster-scoped ones.
func (v *View[T]) Namespace() string { return v.call.Namespace() }

// Name is that of the object.
func (v *View[T]) Name() string { return v.call.Name() }

// User is the user who calls.
func (v *View[T]) User() User { return v.call.User() }

// Warn shows the user a warning with the answer.
func (v *View[T]) Warn(text string) { v.call.Warn(text) }

// Object is the object as it is now. Errors: the object is not there, or the request has ended.
func (v *View[T]) Object(ctx context.Context) (*T, error) {
	text, err := v.call.Object(ctx)
	if err != nil {
		return nil, err
	}
	return read[T](text)
}

// Call is a call of an action that may change the object.
type Call[T any] struct{ View[T] }

// DryRun reports whether the user wants to see what would happen. Update stores nothing then; the code of the
// action has to leave alone what else it changes.
func (c *Call[T]) DryRun() bool { return c.call.DryRun() }

// Update stores the object as change leaves it, and returns it as it is stored. Spec and status may change.
// change may run several times, each time on the newest object, and should have no other effect. Only the
// members that it changes are written. Errors: those of change, which store nothing, and those of an update.
func (c *Call[T]) Update(ctx context.Context, change func(object *T) error) (*T, error) {
	text, err := c.call.Update(ctx, func(text []byte) ([]byte, error) {
		object, err := read[T](text)
		if err != nil {
			return nil, err
		}
		before, err := json.Marshal(object)
		if err != nil {
			return nil, err
		}
		if err := change(object); err != nil {
			return nil, err
		}
		after, err := json.Marshal(object)
		if err != nil {
			return nil, err
		}
		return merged(text, before, after)
	})
	if err != nil {
		return nil, err
	}
	return read[T](text)
}

func read[T any](text []byte) (*T, error) {
	v := new(T)
	return v, json.Unmarshal(text, v)
}

// Writes is an action that may change the object. Generated code calls it.
func Writes[T, In, Out any](do func(context.Context, *Call[T], *In) (*Out, error)) *api.Action {
	return &api.Action{Writes: true, Run: func(ctx context.Context, call api.ActionCall, body []byte) ([]byte, error) {
		in, err := read[In](body)
		if err != nil {
			return nil, err
		}
		return answer(do(ctx, &Call[T]{View[T]{call}}, in))
	}}
}

// Reads is an action with a body that changes nothing. Generated code calls it.
func Reads[T, In, Out any](do func(context.Context, *View[T], *In) (*Out, error)) *api.Action {
	return &api.Action{Run: func(ctx context.Context, call api.ActionCall, body []byte) ([]byte, error) {
		in, err := read[In](body)
		if err != nil {
			return nil, err
		}
		return answer(do(ctx, &View[T]{call}, in))
	}}
}

// Shows is an action without a body, by GET. Generated code calls it.
func Shows[T, Out any](do func(context.Context, *View[T]) (*Out, error)) *api.Action {
	return &api.Action{Run: func(ctx context.Context, call api.ActionCall, _ []byte) ([]byte, error) {
		return answer(do(ctx, &View[T]{call}))
	}}
}

func answer[Out any](out *Out, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return json.Marshal(out)
}
