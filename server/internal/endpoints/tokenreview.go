package endpoints

import (
	"net/http"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/request"
)

// Reviews are requests in the form of objects. The answer is the object with its status
// filled in; nothing is stored.

// review answers a POST of a review that check accepts, with the status that answer fills
// in.
func (x *Endpoints) review(r *request.Request, check func(obj document.Value) error, answer func(obj document.Value)) error {
	doc, err := x.readReview(r, check)
	if err != nil {
		return err
	}
	defer doc.Release()
	obj := doc.Root()
	obj.Remove("status")
	answer(obj)
	return x.env.RespondEntry(r, http.StatusCreated, store.Entry{Value: store.Value{Body: obj.AppendJSON(nil), RevisionAt: -1}})
}

// answerReview answers with a new object, without the sent one.
func (x *Endpoints) answerReview(r *request.Request, fill func(answer document.Value)) error {
	answer, _, err := x.env.Parse([]byte("{}"), request.KindOf(r.Target.Row), document.Value{})
	if err != nil {
		return err
	}
	defer answer.Release()
	fill(answer.Root())
	return x.env.RespondEntry(r, http.StatusCreated, store.Entry{Value: store.Value{Body: answer.Root().AppendJSON(nil), RevisionAt: -1}})
}

// readReview reads a review that admission, which may change it, and check accept. The caller releases it.
func (x *Endpoints) readReview(r *request.Request, check func(obj document.Value) error) (*document.Document, error) {
	opts, err := r.WriteOptions("CreateOptions")
	if err != nil {
		return nil, err
	}
	return x.receive(r, opts, posted{kind: bodyKind(r.Target), check: check,
		meta: func(meta document.Value) {
			objects.DropSystemFields(meta)
			if meta.Remove("creationTimestamp"); !x.cfg.Since("1.34") {
				meta.SetNull("creationTimestamp")
			}
		},
		admit: func(_ document.Value, body *objects.Body) error { return x.objects.AdmitBody(r.Context, body) }})
}

// reviewToken is POST on tokenreviews: it finds the user of the token in the body.
func (x *Endpoints) reviewToken(r *request.Request) error {
	check := func(obj document.Value) error {
		if obj.At("spec", "token").Text() == "" {
			return api.BadRequest("token is required for TokenReview in authentication: send it in spec.token")
		}
		return nil
	}
	return x.review(r, check, func(obj document.Value) {
		spec := obj.SetObject("spec")
		token := spec.Get("token").Text()
		status := obj.SetObject("status")
		user := status.SetObject("user")
		// Other servers ask for names of their own, which tokens of service accounts may have.
		audiences := spec.Get("audiences").Texts()
		if len(audiences) == 0 {
			audiences = x.cfg.APIAudiences
		}
		known, err := x.tokens.AuthenticateToken(authn.ForAudiences(r.Context, audiences), token)
		if known != nil {
			if audiences = known.At(audiences, x.cfg.APIAudiences); len(audiences) == 0 {
				known = nil
			}
		}
		switch {
		case err != nil:
			status.SetString("error", err.Error())
		case known == nil:
			status.SetString("error", "invalid bearer token")
		}
		if known == nil {
			return
		}
		r.Annotate(known.Note.Key, known.Note.Text)
		status.SetBool("authenticated", true)
		setTexts(status, "audiences", audiences)
		writeUser(user, known.User)
	})
}

// reviewUser is POST on selfsubjectreviews: the user of the request.
func (x *Endpoints) reviewUser(r *request.Request) error {
	doc, err := x.readReview(r, func(document.Value) error { return nil })
	if err != nil {
		return err
	}
	doc.Release()
	return x.answerReview(r, func(answer document.Value) {
		answer.SetObject("metadata").SetString("creationTimestamp", x.objects.Now())
		writeUser(answer.SetObject("status").SetObject("userInfo"), r.User)
	})
}

// writeUser writes a user into a UserInfo.
func writeUser(info document.Value, user *authn.User) {
	info.SetString("username", user.Name)
	if user.UID != "" {
		info.SetString("uid", user.UID)
	}
	setTexts(info, "groups", user.Groups)
	for key, values := range user.Extra {
		setTexts(info.SetObject("extra"), key, values)
	}
}

// setTexts writes a list of strings, unless it is empty.
func setTexts(v document.Value, name string, list []string) {
	if len(list) == 0 {
		return
	}
	array := v.SetArray(name)
	for _, text := range list {
		array.AppendString(text)
	}
}
