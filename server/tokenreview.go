package server

import (
	"context"
	"net/http"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
)

// Reviews are questions that are sent as objects. The answer is the object with
// its status filled in; nothing is stored.

// review answers a POST of a review with what answer makes of it.
func (s *Server) review(r *request, answer func(obj document.Value) error) error {
	opts, err := r.writeOptions("CreateOptions")
	if err != nil {
		return err
	}
	res := r.target.resource
	doc, err := s.readObject(r, kindOf(res), opts.validation)
	if err != nil {
		return err
	}
	defer doc.Release()
	obj := doc.Root()
	if err := matchNamespace(res, obj.SetObject("metadata"), r.target.namespace); err != nil {
		return err
	}
	if err := s.own(target{resource: res}, document.Value{}, obj, opts); err != nil {
		return err
	}
	obj.Remove("status")
	if err := answer(obj); err != nil {
		return err
	}
	return s.respondEntry(r, http.StatusCreated, store.Entry{Value: store.Value{Body: obj.AppendJSON(nil), RevisionAt: -1}})
}

// reviewToken is POST on tokenreviews: whose the token is that the body holds.
func (s *Server) reviewToken(r *request) error {
	return s.review(r, func(obj document.Value) error {
		spec := obj.SetObject("spec")
		token := spec.Get("token").Text()
		if token == "" {
			return api.BadRequest("token is required for TokenReview in authentication: send it in spec.token")
		}
		status := obj.SetObject("status")
		user := status.SetObject("user")
		known, err := s.whose(r.ctx, token, spec.Get("audiences"))
		if err != nil {
			status.SetString("error", err.Error())
		}
		if known == nil {
			return nil
		}
		status.SetBool("authenticated", true)
		status.SetArray("audiences").AppendString(s.cfg.ServiceAccountIssuer)
		writeUser(user, known)
		return nil
	})
}

// whose returns the user of a token that is meant for one of the audiences, or
// nil. All tokens that the server knows are meant for itself.
func (s *Server) whose(ctx context.Context, token string, audiences document.Value) (*authn.User, error) {
	meant := audiences.Len() == 0
	for _, a := range audiences.Elements() {
		meant = meant || a.Equals(s.cfg.ServiceAccountIssuer)
	}
	if !meant {
		return nil, nil
	}
	return s.tokenUsers.AuthenticateToken(ctx, token)
}

// writeUser writes what is known of a user into a UserInfo.
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
