package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
)

// answers are those of an action that streams: JSON objects, one a line. The last one may be a Status, which is the error
// that ended the action. wrong, if it is not nil, is all that there is.
func answers[A Object](ctx context.Context, rest *REST, method, path string, o StreamOptions, body Object, wrong error) iter.Seq2[A, error] {
	return func(yield func(A, error) bool) {
		var none A
		err := wrong
		if err == nil {
			err = eachAnswer(ctx, rest, request{method: method, path: path, query: o.query()}, body, func(answer A) bool { return yield(answer, nil) })
		}
		if err != nil {
			yield(none, err)
		}
	}
}

// eachAnswer visits the answers until visit returns false.
func eachAnswer[A Object](ctx context.Context, rest *REST, r request, body Object, visit func(A) bool) error {
	if body != nil {
		var err error
		if r, err = r.with(body); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	response, err := rest.send(ctx, r)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // the request may have ended before
	for lines := json.NewDecoder(response.Body); ; {
		var line json.RawMessage
		if err := lines.Decode(&line); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s %s: the answers are broken off: %w", r.method, r.path, err)
		}
		if ended := endOf(line); ended != nil {
			return ended
		}
		answer := newObject[A]()
		if err := json.Unmarshal(line, answer); err != nil {
			return fmt.Errorf("%s %s: an answer is not the expected object: %w", r.method, r.path, err)
		}
		if !visit(answer) {
			return nil
		}
	}
}

// endOf is the error that a Status in place of an answer says; nil for an answer.
func endOf(line []byte) error {
	e := &Error{}
	var named struct{ Kind, APIVersion string }
	if json.Unmarshal(line, &named) != nil || named.Kind != "Status" || named.APIVersion != "v1" {
		return nil
	}
	if err := json.Unmarshal(line, &e.Status); err != nil {
		return fmt.Errorf("the answers end with a Status that cannot be read: %w", err)
	}
	return e
}
