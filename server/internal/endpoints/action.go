package endpoints

import (
	"fmt"
	"net/http"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/request"
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
	call := newActionCall(x, r, opts)
	if r.Target.Action().Stream != nil {
		return x.stream(r, call, body)
	}
	answer, err := call.run(r.Context, body)
	if err != nil {
		return call.refusal(err)
	}
	if answer, err = x.checkAnswer(r.Target, answer); err != nil {
		return err
	}
	code := http.StatusOK
	if r.Method() == http.MethodPost {
		code = http.StatusCreated
	}
	return x.env.RespondObject(r, code, answerKind(r.Target), answer)
}

// callKind is the kind of the bodies of an action.
func callKind(t request.Target) request.BodyKind {
	want := bodyKind(t)
	want.GV = t.Row.GV
	return want
}

// readCall reads the body of a call, which runs through admission as a new object does. No body is one without
// fields.
func (x *Endpoints) readCall(r *request.Request, opts objects.Options) ([]byte, error) {
	t, want := r.Target, callKind(r.Target)
	if len(r.Body) == 0 {
		r.Body = []byte("{}")
	}
	doc, err := x.receive(r, opts, posted{kind: want, meta: objects.DropSystemFields,
		admit: func(obj document.Value, body *objects.Body) error { return x.admitCall(r, obj, body) },
		check: func(obj document.Value) error {
			if causes := document.Validate(obj, &t.Row.GV.Validation); len(causes) > 0 {
				return api.Invalid(bodyGroup(t), want.Kind, t.Name, causes)
			}
			return nil
		}})
	if err != nil {
		return nil, err
	}
	defer doc.Release()
	return doc.Root().AppendJSON(nil), nil
}

// admitCall runs admission on the body of a call, which is about the object of the path. A namespace that ends takes no action that writes, and one that is
// not there takes none.
func (x *Endpoints) admitCall(r *request.Request, obj document.Value, body *objects.Body) error {
	t := r.Target
	if t.Sub != nil {
		meta := obj.Get("metadata")
		if name := meta.Get("name").Text(); name != "" && name != t.Name {
			return api.BadRequest("the name in the body (%s) is not that in the URL (%s)", name, t.Name)
		}
		meta.SetString("name", t.Name)
	}
	if t.Action().Writes {
		return x.objects.AdmitContent(r.Context, body)
	}
	if t.Row.Namespaced && t.Sub == nil {
		_, release, err := x.reader.Get(r.Context, "", "namespaces", "", t.Namespace)
		if release(); err != nil {
			return err
		}
	}
	return x.objects.AdmitBody(r.Context, body)
}

// bodyGroup is the group of the bodies of an action.
func bodyGroup(t request.Target) string {
	if t.Sub != nil {
		return t.Sub.Group
	}
	return t.Row.GV.Group
}

// actionName is how errors and the log name the action of a target: restart of widgets.
func actionName(t objects.Ref) string {
	if t.Sub == nil {
		return t.Row.Plural
	}
	return t.Sub.Name + " of " + t.Row.Plural
}

// answerKind is the kind of the answers of an action.
func answerKind(t request.Target) request.BodyKind {
	action := t.Action()
	return request.BodyKind{GV: t.Row.GV, Schema: t.Row.Schema, Type: action.Answer, APIVersion: t.Row.GV.APIVersion(), Kind: action.AnswerKind}
}

// checkAnswer completes what an action returned, if it is of the kind that the document promises.
func (x *Endpoints) checkAnswer(t request.Target, answer []byte) ([]byte, error) {
	kind, name := answerKind(t), actionName(t.Ref)
	doc, problems, err := x.env.Read(answer, kind, document.Value{})
	if err != nil {
		return nil, fmt.Errorf("the action %s answers with something other than a %s: %s", name, kind.Kind, err) // the client has sent nothing wrong
	}
	defer doc.Release()
	obj := doc.Root()
	obj.SetString("kind", kind.Kind)
	obj.SetString("apiVersion", kind.APIVersion)
	of, namespace := obj.At("metadata", "name").Text(), obj.At("metadata", "namespace").Text()
	causes := document.Validate(obj, &t.Row.GV.Validation)
	switch {
	case t.Sub != nil && of != "" && of != t.Name, namespace != "" && namespace != t.Namespace && (t.Sub != nil || t.Row.Namespaced):
		return nil, fmt.Errorf("the action %s, called for %s/%s, answers with another object, %s/%s", name, t.Namespace, t.Name, namespace, of)
	case len(problems) > 0:
		return nil, fmt.Errorf("the answer of the action %s has fields that its schema does not know: %v", name, request.Describe(problems))
	case len(causes) > 0 && obj.At("metadata", "uid").Text() == "": // a stored object may have the mistakes that its write accepted
		return nil, fmt.Errorf("the answer of the action %s breaks its schema: %v", name, causes)
	}
	return obj.AppendJSON(nil), nil
}
