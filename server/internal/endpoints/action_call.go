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
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/request"
)

// actionCall implements api.ActionCall.
//
// Invariant: once the request has ended nothing of it is used any more, however long the code of the action
// goes on: methods that use the request enter first, and end returns after the last one has left. They wait
// for code of the action no longer than the request lasts (apart).
type actionCall struct {
	log     *slog.Logger
	objects *objects.Objects
	catalog *catalog.Catalog
	target  objects.Ref
	opts    objects.Options // with the author
	author  *callAuthor
	user    api.ActionUser

	over  context.Context // ends with the request
	close context.CancelFunc

	mu    sync.Mutex
	ended bool
	under sync.WaitGroup // methods under way; their context ends with the request
}

func newActionCall(x *Endpoints, r *request.Request, opts objects.Options) *actionCall {
	target := r.Target.Ref
	target.Namespace, target.Name = strings.Clone(target.Namespace), strings.Clone(target.Name)
	author := &callAuthor{request: r}
	opts.Author = author
	return &actionCall{author: author, log: x.log, objects: x.objects, catalog: x.catalog, target: target, opts: opts,
		user: api.ActionUser{Name: r.User.Name, UID: r.User.UID, Groups: r.User.Groups, Extra: r.User.Extra}}
}

// run calls the code of the action. It returns when the code does, or when the time of the request is over.
func (c *actionCall) run(ctx context.Context, body []byte) ([]byte, error) {
	c.begin(ctx)
	defer c.end()
	return c.apart(func() ([]byte, error) { return c.target.Action().Run(c.over, c, body) })
}

// begin begins the call.
func (c *actionCall) begin(ctx context.Context) { c.over, c.close = context.WithCancel(ctx) }

// end ends the call: its methods fail from now on.
func (c *actionCall) end() {
	c.close()
	c.mu.Lock()
	c.ended = true
	c.mu.Unlock()
	c.under.Wait()
}

// callResult is the result of code of an action.
type callResult struct {
	text []byte
	err  error
}

// apart runs code of the action, and waits for its end or that of the request.
func (c *actionCall) apart(code func() ([]byte, error)) ([]byte, error) {
	select {
	case out := <-c.start(code):
		return out.text, out.err
	case <-c.over.Done():
		return nil, c.over.Err()
	}
}

// start begins code of the action, which may hang or panic.
func (c *actionCall) start(code func() ([]byte, error)) <-chan callResult {
	done := make(chan callResult, 1)
	go func() {
		var out callResult
		defer func() { done <- out }()
		defer func() {
			if v := recover(); v != nil {
				c.log.Error("the code of an action panicked", "action", actionName(c.target), "panic", v, "stack", string(debug.Stack()))
				out = callResult{err: api.Internal("the action failed; the server's log says more")}
			}
		}()
		out.text, out.err = code()
	}()
	return done
}

// refusal is an error of the action's code as an answer.
func (c *actionCall) refusal(err error) error {
	var known *api.Error
	if !errors.As(err, &known) {
		return err // nil too
	}
	var own *api.Refusal
	if may := c.target.Action().Refusals; may != nil && errors.As(err, &own) && !slices.Contains(may, own.Answer.Reason) {
		return fmt.Errorf("the action %s refuses a call with the error %s, which its document does not name (add it to errors there): %s",
			actionName(c.target), own.Answer.Reason, own.Answer.Message)
	}
	t, refused := c.target, *known
	if refused.Reason == api.ReasonInvalid && refused.Kind == "" {
		if t.Sub == nil {
			return api.Invalid(t.Row.GV.Group, t.Row.Kind, t.Name, refused.Causes)
		}
		return api.Invalid(t.Sub.Group, t.Sub.Kind, t.Name, refused.Causes)
	}
	if !refused.HasDetails && refused.Code != http.StatusBadRequest {
		refused.HasDetails, refused.Name, refused.Group, refused.Kind = true, t.Name, t.Row.GV.Group, t.Row.Plural
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
func (c *actionCall) Namespace() string { return c.target.Namespace }

// Name implements api.ActionCall.
func (c *actionCall) Name() string { return c.target.Name }

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

// Itself implements api.ActionCall.
func (c *actionCall) Itself() api.ActionObject {
	t := c.target
	return api.ActionObject{APIVersion: t.Row.GV.APIVersion(), Kind: t.Row.Kind, Namespace: t.Namespace, Name: t.Name}
}

// callAuthor is a request as the author of what an action writes, possibly several objects at the same time.
type callAuthor struct {
	mu      sync.Mutex
	request *request.Request
	answers bool // the answer has begun, and takes no more warnings
}

// Warn implements objects.Author.
func (a *callAuthor) Warn(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.answers {
		a.request.Warn(text)
	}
}

// Audited implements objects.Author.
func (a *callAuthor) Audited(bodies bool) bool { return a.request.Audited(bodies) }

// Annotate implements objects.Author.
func (a *callAuthor) Annotate(key, value string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.request.Annotate(key, value)
}
