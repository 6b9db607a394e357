package endpoints

import (
	"context"
	"errors"
	"net/http"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/server/internal/conns"
	"github.com/capstan-dev/capstan/server/internal/request"
	"github.com/capstan-dev/capstan/server/internal/stream"
)

// actionStream is the answer of an action that streams: JSON objects, one a line, each sent at once. The code of the
// action waits for its client with each of them.
//
// The head is sent with the first answer, so that a refusal before it is an ordinary one. After it an error is the
// last line, a Status. The stream ends properly when the code returns, when its time is over, and when the server stops.
type actionStream struct {
	x       *Endpoints
	request *request.Request
	call    *actionCall
	answers chan callAnswer
	sink    *stream.Response
	begun   bool // the head has been sent, with the first answer
}

// callAnswer is an answer on its way; taken gets the error of sending it.
type callAnswer struct {
	text  []byte
	taken chan error
}

// stream lets an action answer as the rest of its request, without a place among those that run.
func (x *Endpoints) stream(r *request.Request, call *actionCall, body []byte) error {
	lasts, err := x.verbs.Time(r)
	if err != nil {
		return err
	}
	if r.HTTP.Method == http.MethodHead {
		r.Head(http.StatusOK, r.Accept.ContentType())
		return nil
	}
	s := &actionStream{x: x, request: r, call: call, answers: make(chan callAnswer)}
	r.Rest = func() {
		r.Leave()
		ctx, cancel := context.WithTimeout(r.Context, lasts)
		defer cancel()
		if err := s.run(ctx, body); err != nil {
			x.env.Fail(r, err)
		}
	}
	return nil
}

// run is the stream from its begin to its end. An error is of one that has not begun. The sink is made at once, since it
// clears the deadline of short requests.
func (s *actionStream) run(ctx context.Context, body []byte) error {
	s.sink = s.x.verbs.Streams.Respond(s.request.Writer, &s.request.Bytes)
	defer s.sink.Close()
	s.call.begin(ctx)
	defer s.call.end()
	err := s.call.refusal(s.follow(s.call.start(func() ([]byte, error) {
		return nil, s.call.target.Action().Stream(s.call.over, s.call, body, s.send)
	})))
	if s.request.HTTP.Context().Err() != nil { // the client has gone
		return nil
	}
	if !s.begun && err != nil {
		return err
	}
	s.begin()
	s.fail(err)
	return nil
}

// follow sends the answers as they come, until the end of the stream.
func (s *actionStream) follow(done <-chan callResult) error {
	for {
		select {
		case a := <-s.answers:
			err := s.answer(a.text)
			a.taken <- err
			if err != nil {
				return err
			}
		case out := <-done:
			if s.call.over.Err() != nil { // it ended because of that
				return nil
			}
			return out.err
		case <-s.call.over.Done():
			return nil
		case <-s.x.verbs.Stopping:
			return nil
		}
	}
}

// send takes an answer of the action's code, and returns when it is on its way.
func (s *actionStream) send(text []byte) error {
	a := callAnswer{text, make(chan error, 1)}
	select {
	case s.answers <- a:
	case <-s.call.over.Done():
		return errCallEnded
	}
	select {
	case err := <-a.taken:
		return err
	case <-s.call.over.Done():
		return errCallEnded
	}
}

// begin sends the head, with the warnings so far, unless that has been sent.
func (s *actionStream) begin() {
	if s.begun {
		return
	}
	s.call.author.mu.Lock()
	defer s.call.author.mu.Unlock()
	s.begun, s.call.author.answers = true, true
	s.request.Head(http.StatusOK, s.request.Accept.ContentType())
}

// answer sends one answer.
func (s *actionStream) answer(text []byte) error {
	text, err := s.x.checkAnswer(s.request.Target, text)
	if err != nil {
		return err
	}
	s.begin()
	return s.line(text)
}

func (s *actionStream) line(text []byte) error {
	if err := s.sink.Add(append(text, request.Newline...)); err != nil {
		return err
	}
	return s.sink.Flush()
}

// fail sends the reason of the end as the last line.
func (s *actionStream) fail(err error) {
	var known *api.Error
	var gone *conns.GoneError
	switch {
	case err == nil, errors.As(err, &gone), errors.Is(err, errCallEnded):
		return
	case !errors.As(err, &known):
		s.x.log.Error("the stream of an action ended", "action", actionName(s.call.target), "error", err)
		known = api.Internal("the action failed; the server's log says more")
	}
	_ = s.line(codec.Status(known).JSON()) // the client has gone if this fails
}
