package authorizers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/expression"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// mostConditions bounds the match conditions of a webhook.
const mostConditions = 64

// compiler compiles match conditions, which see a review of the request in v1.
type compiler struct{ scope *expression.Scope }

// newCompiler makes the compiler; selectors says that requests have selectors.
func newCompiler(selectors bool) (*compiler, error) {
	ts, text := new(expression.Types), &expression.Type{Kind: expression.String}
	texts := &expression.Type{Kind: expression.List, Elem: text}
	object := func(name string, fields ...expression.Field) *expression.Type {
		t := &expression.Type{Kind: expression.Object, Fields: fields}
		ts.Declare(profile.MediaTypeWord+"."+name, t)
		return t
	}
	of := func(t *expression.Type, names ...string) (fields []expression.Field) {
		for _, name := range names {
			fields = append(fields, expression.Field{Name: name, Type: t, Plain: true})
		}
		return fields
	}
	resource := of(text, "namespace", "verb", "group", "version", "resource", "subresource", "name")
	if selectors {
		requirement := object("SelectorRequirement", append(of(text, "key", "operator"), of(texts, "values")...)...)
		list := &expression.Type{Kind: expression.List, Elem: requirement}
		for name, typ := range map[string]string{"fieldSelector": "FieldSelectorAttributes", "labelSelector": "LabelSelectorAttributes"} {
			resource = append(resource, of(object(typ, append(of(text, "rawSelector"), of(list, "requirements")...)...), name)...)
		}
	}
	spec := slices.Concat(of(object("ResourceAttributes", resource...), "resourceAttributes"),
		of(object("NonResourceAttributes", of(text, "path", "verb")...), "nonResourceAttributes"), of(text, "user", "uid"), of(texts, "groups"),
		of(&expression.Type{Kind: expression.Map, Elem: texts}, "extra"))
	scope, err := expression.NewScope(ts, expression.Variable{Name: "request", Type: object("SubjectAccessReviewSpec", spec...)})
	return &compiler{scope}, err
}

// conditions are the compiled match conditions of a webhook.
type conditions struct {
	texts    []string
	programs []*expression.Program
}

// all compiles the match conditions of a webhook.
func (c *compiler) all(at *field.Path, list []condition) (*conditions, field.ErrorList) {
	if len(list) > mostConditions {
		return nil, field.ErrorList{field.TooMany(at, len(list), mostConditions)}
	}
	var all conditions
	var wrong field.ErrorList
	for i, one := range list {
		at, text := at.Index(i).Child("expression"), one.Expression
		if strings.TrimSpace(text) == "" {
			wrong = append(wrong, field.Required(at, ""))
			continue
		}
		if slices.Contains(all.texts, text) {
			wrong = append(wrong, field.Duplicate(at, text))
			continue
		}
		program, err := c.scope.Compile(text, expression.Condition)
		if err != nil {
			wrong = append(wrong, uncompiled(at, text, err))
		}
		all.texts, all.programs = append(all.texts, text), append(all.programs, program)
	}
	return &all, wrong
}

// uncompiled is the mistake in a condition, in the words of kube-apiserver.
func uncompiled(at *field.Path, text string, err error) *field.Error {
	var problem *expression.Problem
	if !errors.As(err, &problem) {
		return field.InternalError(at, err)
	}
	switch problem.Kind {
	case expression.SyntaxProblem:
		return field.Invalid(at, text, "compilation failed: "+problem.Detail)
	case expression.ResultProblem:
		return field.Invalid(at, text, "must evaluate to bool but got "+problem.Detail)
	}
	return field.InternalError(at, errors.New("program instantiation failed: "+problem.Detail))
}

// reviewed is a request as match conditions see it: all texts are there, empty ones too.
type reviewed struct {
	User     string              `json:"user"`
	Groups   []string            `json:"groups"`
	UID      string              `json:"uid"`
	Extra    map[string][]string `json:"extra"`
	Resource *reviewedResource   `json:"resourceAttributes,omitempty"`
	Path     *reviewedPath       `json:"nonResourceAttributes,omitempty"`
}

type reviewedResource struct {
	Namespace   string            `json:"namespace"`
	Verb        string            `json:"verb"`
	Group       string            `json:"group"`
	Version     string            `json:"version"`
	Resource    string            `json:"resource"`
	Subresource string            `json:"subresource"`
	Name        string            `json:"name"`
	Fields      *reviewedSelector `json:"fieldSelector,omitempty"`
	Labels      *reviewedSelector `json:"labelSelector,omitempty"`
}

type reviewedPath struct {
	Path string `json:"path"`
	Verb string `json:"verb"`
}

type reviewedSelector struct {
	Requirements []reviewedRequirement `json:"requirements"`
}

type reviewedRequirement struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"`
	Values   []string `json:"values"`
}

// selected is a selector as match conditions see it; nil for none.
func selected(selector []authz.Requirement) *reviewedSelector {
	if len(selector) == 0 {
		return nil
	}
	s := &reviewedSelector{}
	for _, r := range selector {
		s.Requirements = append(s.Requirements, reviewedRequirement{r.Key, r.Operator, append([]string{}, r.Values...)})
	}
	return s
}

// review makes the document of a request. The caller releases it.
func review(a *authz.Attributes) (*document.Document, error) {
	r := reviewed{Groups: []string{}, Extra: map[string][]string{}}
	if u := a.User; u != nil {
		r.User, r.UID = u.Name, u.UID
		r.Groups = append(r.Groups, u.Groups...)
		for key, values := range u.Extra {
			r.Extra[key] = append([]string{}, values...)
		}
	}
	if a.ResourceRequest {
		r.Resource = &reviewedResource{a.Namespace, a.Verb, a.Group, a.Version, a.Resource, a.Subresource, a.Name, selected(a.Fields), selected(a.Labels)}
	} else {
		r.Path = &reviewedPath{a.Path, a.Verb}
	}
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	return document.DecodeAny(text, document.Limits{})
}

// match reports whether all conditions are true. An error counts if none is false.
func (c *conditions) match(ctx context.Context, a *authz.Attributes) (bool, error) {
	doc, err := review(a)
	if err != nil {
		return false, err
	}
	defer doc.Release()
	var failed []error
	bindings := c.programs[0].Scope().Bind()
	bindings.Set(0, doc.Root())
	for i, p := range c.programs {
		if v, err := p.Call(ctx, bindings); err != nil {
			failed = append(failed, fmt.Errorf("cel evaluation error: expression '%s' resulted in error: %v", c.texts[i], err))
		} else if !expression.True(v) {
			return false, nil
		}
	}
	if len(failed) > 0 {
		return false, utilerrors.NewAggregate(failed)
	}
	return true, nil
}
