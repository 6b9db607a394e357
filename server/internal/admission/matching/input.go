package matching

import (
	"context"
	"encoding/json"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/expression"
	"github.com/capstan-dev/capstan/server/internal/admission"
	"github.com/capstan-dev/capstan/server/internal/admission/conditions"
)

// Input is the values of the variables of expressions about one write.
type Input struct {
	*View
	Write   *admission.Request
	Rights  expression.Authorizer
	Params  document.Value
	made    [2]*document.Document // of the request and of its namespace
	matcher *Matcher
}

// Rights answers checks about the author of a write, each once.
func (m *Matcher) Rights(ctx context.Context, r *admission.Request) expression.Authorizer {
	known := map[expression.Check]expression.Decision{}
	return func(c expression.Check) expression.Decision {
		d, ok := known[c]
		if !ok {
			d = m.decide(ctx, r.User, c)
			known[c] = d
		}
		return d
	}
}

func (m *Matcher) decide(ctx context.Context, user *authn.User, c expression.Check) expression.Decision {
	if c.Account != "" {
		user = authn.ServiceAccount(c.Namespace, c.Account, "")
		user.Groups = user.Groups[:2] // without that of all users, as in Kubernetes
	}
	a := authz.Attributes{User: user, Verb: c.Verb, Path: c.Path}
	if c.Path == "" {
		a.ResourceRequest, a.Group, a.Version, a.Resource, a.Subresource, a.Namespace, a.Name = true, c.Group, "*", c.Resource, c.Subresource, c.In, c.Name
	}
	if m.Selectors && c.Path == "" {
		// A selector that cannot be read does not narrow the request.
		a.Fields, _ = authz.ParseFields(c.Fields)
		a.Labels, _ = authz.ParseLabels(c.Labels)
	}
	decision, reason, err := m.Authorizer.Authorize(ctx, &a)
	return expression.Decision{Allowed: decision == authz.Allow, Reason: reason, Err: err}
}

// Input makes the values of a write in a version. The caller releases them, and the view.
func (m *Matcher) Input(r *admission.Request, seen *View, rights expression.Authorizer) *Input {
	return &Input{View: seen, Write: r, Rights: rights, matcher: m}
}

// Bind binds the variables of a scope.
func (in *Input) Bind(ctx context.Context, s *expression.Scope) *expression.Bindings {
	b, r := s.Bind(), in.Write
	b.Set(s.Index(conditions.Object), in.Object)
	b.Set(s.Index(conditions.OldObject), in.Old)
	later := func(name string, value func() document.Value) {
		i := s.Index(name)
		b.SetLater(i, func() expression.Value { return s.ValueOf(i, value()) })
	}
	later(conditions.Request, in.ask)
	later(conditions.NamespaceObject, func() document.Value { return in.namespace(ctx) })
	if i := s.Index(conditions.Params); i >= 0 {
		b.Set(i, in.Params)
	}
	if i := s.Index(conditions.Authorizer); i >= 0 {
		b.SetValue(i, expression.AuthorizerOf(in.Rights))
		b.SetValue(s.Index(conditions.RequestResource), expression.ResourceCheckOf(in.Rights,
			expression.Check{Group: r.Asked.GV.Group, Resource: r.Asked.Plural, Subresource: r.Subresource, In: r.Namespace, Name: r.Name}))
	}
	return b
}

// ask is the request, made when it is first used.
func (in *Input) ask() document.Value {
	if in.made[0] == nil {
		text, err := json.Marshal(Ask(in.Write, in.In))
		if err != nil {
			return document.Value{} // it is texts, numbers and options, which are JSON
		}
		if in.made[0], err = document.DecodeAny(text, document.Limits{}); err != nil {
			return document.Value{}
		}
	}
	return in.made[0].Root()
}

// namespace is the namespace of the object; absent for one without, for namespaces
// themselves, and for one that is gone.
func (in *Input) namespace(ctx context.Context) document.Value {
	if in.made[1] == nil && in.Write.Namespace != "" && !isNamespaces(in.Write.Asked) {
		obj, release, err := in.matcher.Namespace(ctx, in.Write.Namespace)
		if err != nil {
			return document.Value{}
		}
		defer release()
		if in.made[1], err = document.DecodeAny(obj.AppendJSON(nil), document.Limits{}); err != nil {
			return document.Value{}
		}
	}
	if in.made[1] == nil {
		return document.Value{}
	}
	return in.made[1].Root()
}

// Release releases the documents that were made for the input.
func (in *Input) Release() {
	for _, doc := range in.made {
		if doc != nil {
			doc.Release()
		}
	}
}
