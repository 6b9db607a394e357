package endpoints

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/request"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// act is a call of an action: the code of a module answers it, after the checks of every body.
func (x *Endpoints) act(r *request.Request) error {
	opts, err := r.WriteOptions("CreateOptions")
	if err != nil {
		return err
	}
	var body []byte
	if r.Method() == http.MethodPost {
		if body, err = x.readCall(r, opts); err != nil {
			return err
		}
	}
	call := newActionCall(x.objects, r, opts)
	answer, err := call.run(r.Context, x.log, body)
	if err != nil {
		return call.refusal(err)
	}
	return x.answerCall(r, answer)
}

// readCall reads the body of a call, which runs through admission as a new object does. No body is one without
// fields.
func (x *Endpoints) readCall(r *request.Request, opts objects.Options) ([]byte, error) {
	t := r.Target
	if len(r.Body) == 0 {
		r.Body = []byte("{}")
	}
	want := subKind(t)
	want.GV = t.Row.GV
	doc, err := x.env.ReadObject(r, want, opts.Validation)
	if err != nil {
		return nil, err
	}
	defer doc.Release()
	obj := doc.Root()
	meta := obj.SetObject("metadata")
	objects.DropSystemFields(meta)
	if err := objects.MatchNamespace(t.Row, meta, t.Namespace); err != nil {
		return nil, err
	}
	if name := meta.Get("name").Text(); name != "" && name != t.Name {
		return nil, api.BadRequest("the name in the body (%s) is not that in the URL (%s)", name, t.Name)
	}
	meta.SetString("name", t.Name)
	if err := x.ownBody(t, obj, opts); err != nil {
		return nil, err
	}
	admitted := objects.NewBody(t.Ref, opts, obj)
	admit := x.objects.AdmitBody
	if t.Sub.Action.Writes {
		admit = x.objects.AdmitContent
	}
	if err := admit(r.Context, admitted); err != nil {
		return nil, err
	}
	if causes := document.Validate(obj, &t.Row.GV.Validation); len(causes) > 0 {
		return nil, api.Invalid(t.Sub.Group, t.Sub.Kind, t.Name, causes)
	}
	if err := x.objects.CheckBody(r.Context, admitted); err != nil {
		return nil, err
	}
	return obj.AppendJSON(nil), nil
}

// answerCall answers with what an action returned, if it is of the kind that the document promises.
func (x *Endpoints) answerCall(r *request.Request, answer []byte) error {
	t, action := r.Target, r.Target.Sub.Action
	kind := request.BodyKind{GV: t.Row.GV, Schema: t.Row.Schema, Type: action.Answer, APIVersion: t.Row.GV.APIVersion(), Kind: action.AnswerKind}
	doc, problems, err := x.env.Read(answer, kind, document.Value{})
	if err != nil {
		return fmt.Errorf("the action %s of %s answers with something other than a %s: %w", t.Sub.Name, t.Row.Plural, kind.Kind, err)
	}
	defer doc.Release()
	obj := doc.Root()
	obj.SetString("kind", kind.Kind)
	obj.SetString("apiVersion", kind.APIVersion)
	meta := obj.Get("metadata")
	name, namespace := meta.Get("name").Text(), meta.Get("namespace").Text()
	causes := document.Validate(obj, &t.Row.GV.Validation)
	switch {
	case name != "" && name != t.Name, namespace != "" && namespace != t.Namespace:
		return fmt.Errorf("the action %s of %s %s/%s answers with another object, %s/%s", t.Sub.Name, t.Row.Plural, t.Namespace, t.Name, namespace, name)
	case len(problems) > 0:
		return fmt.Errorf("the answer of the action %s of %s has fields that its schema does not know: %v", t.Sub.Name, t.Row.Plural, request.Describe(problems))
	case len(causes) > 0:
		return fmt.Errorf("the answer of the action %s of %s breaks its schema: %v", t.Sub.Name, t.Row.Plural, causes)
	}
	code := http.StatusOK
	if r.Method() == http.MethodPost {
		code = http.StatusCreated
	}
	return x.env.RespondObject(r, code, kind, obj.AppendJSON(nil))
}

// actionCall implements api.ActionCall.
//
// Invariant: once the request has ended nothing of it is used any more, however long the code of the action
// goes on: methods that use the request enter first, and run ends after the last one has left.
type actionCall struct {
	objects         *objects.Objects
	target          objects.Ref
	opts            objects.Options // with the request as their author
	namespace, name string
	user            api.ActionUser

	mu    sync.Mutex
	ended bool
	under sync.WaitGroup // methods under way; their context ends with the request
}

func newActionCall(o *objects.Objects, r *request.Request, opts objects.Options) *actionCall {
	return &actionCall{objects: o, target: r.Target.Ref, opts: opts, namespace: strings.Clone(r.Target.Namespace), name: strings.Clone(r.Target.Name),
		user: api.ActionUser{Name: r.User.Name, UID: r.User.UID, Groups: r.User.Groups, Extra: r.User.Extra}}
}

// run calls the code of the action. It returns when the code does, or when the time of the request is over.
func (c *actionCall) run(ctx context.Context, log *slog.Logger, body []byte) ([]byte, error) {
	type result struct {
		answer []byte
		err    error
	}
	done := make(chan result, 1)
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		var out result
		defer func() { done <- out }()
		defer func() {
			if v := recover(); v != nil {
				log.Error("the code of an action panicked", "action", c.target.Row.Plural+"/"+c.target.Sub.Name, "panic", v, "stack", string(debug.Stack()))
				out = result{err: api.Internal("the action failed; the server's log says more")}
			}
		}()
		out.answer, out.err = c.target.Sub.Action.Run(ctx, c, body)
	}()
	var out result
	select {
	case out = <-done:
	case <-ctx.Done():
		out.err = ctx.Err()
	}
	cancel()
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	c.under.Wait()
	return out.answer, out.err
}

// refusal is an error of the action's code as an answer.
func (c *actionCall) refusal(err error) error {
	var known *api.Error
	if !errors.As(err, &known) {
		return err
	}
	t, refused := c.target, *known
	if !refused.HasDetails && refused.Code != http.StatusBadRequest {
		refused.HasDetails, refused.Name, refused.Group, refused.Kind = true, t.Name, t.Row.GV.Group, t.Row.Plural
	}
	if refused.Reason == api.ReasonInvalid && refused.Kind == "" {
		return api.Invalid(t.Sub.Group, t.Sub.Kind, t.Name, refused.Causes)
	}
	return &refused
}

// enter begins a method, after which under.Done has to be called, unless the request has ended.
func (c *actionCall) enter() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return errCallEnded
	}
	c.under.Add(1)
	return nil
}

var errCallEnded = errors.New("the request of this call of an action has ended")

// Namespace implements api.ActionCall.
func (c *actionCall) Namespace() string { return c.namespace }

// Name implements api.ActionCall.
func (c *actionCall) Name() string { return c.name }

// User implements api.ActionCall.
func (c *actionCall) User() api.ActionUser { return c.user }

// DryRun implements api.ActionCall.
func (c *actionCall) DryRun() bool { return c.opts.DryRun }

// Warn implements api.ActionCall.
func (c *actionCall) Warn(text string) {
	if c.enter() != nil {
		return
	}
	defer c.under.Done()
	c.opts.Author.Warn(text)
}

// Object implements api.ActionCall.
func (c *actionCall) Object(ctx context.Context) ([]byte, error) {
	if err := c.enter(); err != nil {
		return nil, err
	}
	defer c.under.Done()
	doc, err := c.objects.Reader.In(ctx, c.target.Row, c.namespace, c.name)
	if err != nil {
		return nil, err
	}
	defer doc.Release()
	return doc.Root().AppendJSON(nil), nil
}

// Update implements api.ActionCall.
func (c *actionCall) Update(ctx context.Context, change func(object []byte) ([]byte, error)) ([]byte, error) {
	if err := c.enter(); err != nil {
		return nil, err
	}
	defer c.under.Done()
	if !c.target.Sub.Action.Writes {
		return nil, errors.New("the action only reads, as its document says")
	}
	out, err := c.objects.Write(ctx, &objects.Write{Ref: c.target, Opts: c.opts, Change: func(e *objects.Evaluation) (document.Value, error) {
		if e.Shown == nil {
			return document.Value{}, api.NotFound(e.Row.GroupResource(), e.Name)
		}
		text, err := change(slices.Clone(e.Shown.Body))
		if err != nil {
			return document.Value{}, err
		}
		doc, err := c.objects.DecodeOwn(e.Row, text)
		if err != nil {
			return document.Value{}, err
		}
		return e.Keep(doc), nil
	}})
	if err != nil {
		return nil, err
	}
	return stored.Served(ctx, c.target.Row.Resource, out.Body)
}
