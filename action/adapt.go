package action

import (
	"context"
	"encoding/json"

	"github.com/capstan-dev/capstan/internal/api"
)

// caller is the pointer to a type of calls.
type caller[C any] interface {
	*C
	Any
}

func called[C any, P caller[C]](call api.ActionCall) P {
	c := P(new(C))
	*c.inner() = call
	return c
}

// Writes is an action that may change objects. Generated code calls it.
func Writes[C, In, Out any, P caller[C]](do func(context.Context, P, *In) (*Out, error)) *api.Action {
	a := Reads(do)
	a.Writes = true
	return a
}

// Reads is an action with a body that changes nothing. Generated code calls it.
func Reads[C, In, Out any, P caller[C]](do func(context.Context, P, *In) (*Out, error)) *api.Action {
	return &api.Action{Run: func(ctx context.Context, call api.ActionCall, body []byte) ([]byte, error) {
		in, err := read[In](body)
		if err != nil {
			return nil, err
		}
		return answer(do(ctx, called[C, P](call), in))
	}}
}

// Shows is an action without a body, by GET. Generated code calls it.
func Shows[C, Out any, P caller[C]](do func(context.Context, P) (*Out, error)) *api.Action {
	return &api.Action{Run: func(ctx context.Context, call api.ActionCall, _ []byte) ([]byte, error) {
		return answer(do(ctx, called[C, P](call)))
	}}
}

func answer[Out any](out *Out, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

// Streams is an action with a body and a sequence of answers. Generated code calls it.
func Streams[C, In, Out any, P caller[C]](do func(context.Context, P, *In, func(*Out) error) error) *api.Action {
	return &api.Action{Stream: func(ctx context.Context, call api.ActionCall, body []byte, send func([]byte) error) error {
		in, err := read[In](body)
		if err != nil {
			return err
		}
		return do(ctx, called[C, P](call), in, sending[Out](send))
	}}
}

// ShowsStream is an action without a body, by GET, and with a sequence of answers. Generated code calls it.
func ShowsStream[C, Out any, P caller[C]](do func(context.Context, P, func(*Out) error) error) *api.Action {
	return &api.Action{Stream: func(ctx context.Context, call api.ActionCall, _ []byte, send func([]byte) error) error {
		return do(ctx, called[C, P](call), sending[Out](send))
	}}
}

func sending[Out any](send func([]byte) error) func(*Out) error {
	return func(out *Out) error {
		text, err := json.Marshal(out)
		if err != nil {
			return err
		}
		return send(text)
	}
}
