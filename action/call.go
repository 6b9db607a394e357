package action

import (
	"context"
	"encoding/json"

	"github.com/capstan-dev/capstan/internal/api"
)

// User is the user of a call.
type User = api.ActionUser

// Query is a call of an action that only reads, and is not of an object.
type Query struct{ call api.ActionCall }

// Namespace is that of the call, "" for the cluster.
func (q *Query) Namespace() string { return q.call.Namespace() }

// User is the user who calls.
func (q *Query) User() User { return q.call.User() }

// Warn shows the user a warning with the answer.
func (q *Query) Warn(text string) { q.call.Warn(text) }

func (q *Query) inner() *api.ActionCall { return &q.call }

// Command is a call of an action that may change objects, and is not of an object.
type Command struct{ Query }

// DryRun reports whether the user wants to see what would happen. The methods of Objects store nothing then; the code
// of the action has to leave alone what else it changes.
func (c *Command) DryRun() bool { return c.call.DryRun() }

// View is a call of an action of an object that only reads. T is the type of the object in Go.
type View[T any] struct{ Query }

// Name is that of the object.
func (v *View[T]) Name() string { return v.call.Name() }

// Object is the object as it is now. Errors: the object is not there, or the request has ended.
func (v *View[T]) Object(ctx context.Context) (*T, error) {
	text, err := v.call.Get(ctx, v.call.Itself())
	if err != nil {
		return nil, err
	}
	return read[T](text)
}

// Call is a call of an action of an object that may change it.
type Call[T any] struct{ View[T] }

// DryRun reports whether the user wants to see what would happen. Update stores nothing then; the code of the
// action has to leave alone what else it changes.
func (c *Call[T]) DryRun() bool { return c.call.DryRun() }

// Update stores the object as change leaves it, and returns it as it is stored. Spec and status may change.
// change may run several times, each time on the newest object, and should have no other effect. Only the
// members that it changes are written. Errors: those of change, which store nothing, and those of an update.
func (c *Call[T]) Update(ctx context.Context, change func(object *T) error) (*T, error) {
	return update(ctx, c.call, c.call.Itself(), change)
}

func update[T any](ctx context.Context, call api.ActionCall, of api.ActionObject, change func(object *T) error) (*T, error) {
	text, err := call.Update(ctx, of, func(text []byte) ([]byte, error) {
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
