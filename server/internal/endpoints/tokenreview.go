package endpoints

import (
	"net/http"
	"slices"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/front"
	"github.com/capstan-dev/capstan/server/internal/objects"
)

// Reviews are requests in the form of objects. The answer is the object with its status
// filled in; nothing is stored.

// review answers a POST of a review, with the status that answer fills in.
func (x *Endpoints) review(r *front.Request, answer func(obj document.Value) error) error {
	opts, err := r.WriteOptions("CreateOptions")
	if err != nil {
		return err
	}
	res := r.Target.Row
	doc, err := x.front.ReadObject(r, front.KindOf(res), opts.Validation)
	if err != nil {
		return err
	}
	defer doc.Release()
	obj := doc.Root()
	meta := obj.SetObject("metadata")
	objects.DropSystemFields(meta)
	meta.SetNull("creationTimestamp")
	if err := objects.MatchNamespace(res, meta, r.Target.Namespace); err != nil {
		return err
	}
	if err := x.objects.Own(r.Context, objects.Ref{Row: res}, document.Value{}, obj, opts); err != nil {
		return err
	}
	obj.Remove("status")
	if err := answer(obj); err != nil {
		return err
	}
	return x.front.RespondEntry(r, http.StatusCreated, store.Entry{Value: store.Value{Body: obj.AppendJSON(nil), RevisionAt: -1}})
}

// reviewToken is POST on tokenreviews: it finds the user of the token in the body.
func (x *Endpoints) reviewToken(r *front.Request) error {
	return x.review(r, func(obj document.Value) error {
		spec := obj.SetObject("spec")
		token := spec.Get("token").Text()
		if token == "" {
			return api.BadRequest("token is required for TokenReview in authentication: send it in spec.token")
		}
		status := obj.SetObject("status")
		user := status.SetObject("user")
		var known *authn.Identity
		var err error
		audiences := x.audiences(spec.Get("audiences"))
		if len(audiences) > 0 {
			known, err = x.tokens.AuthenticateToken(r.Context, token)
		}
		if known != nil {
			if audiences = known.At(audiences); len(audiences) == 0 {
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
			return nil
		}
		status.SetBool("authenticated", true)
		setTexts(status, "audiences", audiences)
		writeUser(user, known.User)
		return nil
	})
}

// audiences are those of a review that are this server, all of its own when the
// review names none.
func (x *Endpoints) audiences(asked document.Value) []string {
	if asked.Len() == 0 {
		return x.cfg.APIAudiences
	}
	var own []string
	for _, a := range asked.Elements() {
		if slices.Contains(x.cfg.APIAudiences, a.Text()) {
			own = append(own, a.Text())
		}
	}
	return own
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
