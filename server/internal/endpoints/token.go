package endpoints

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/request"
)

// requestToken is POST on the token subresource of a service account: it answers
// with the request, completed and with a token in its status. Nothing is stored.
func (x *Endpoints) requestToken(r *request.Request) error {
	opts, err := r.WriteOptions("CreateOptions")
	if err != nil {
		return err
	}
	t := r.Target
	var account authn.Reference
	doc, err := x.receive(r, opts, posted{kind: subKind(t), meta: x.keepAccountUID, admit: x.asContent(r), check: func(obj document.Value) error {
		of, release, err := x.reader.Get(r.Context, "", "serviceaccounts", t.Namespace, t.Name)
		defer release()
		if err != nil {
			return err
		}
		account = referenceTo(of)
		if err := x.checkAccountUID(r, obj, account.UID); err != nil {
			return err
		}
		return x.completeToken(t, obj)
	}})
	if err != nil {
		return err
	}
	defer doc.Release()
	obj := doc.Root()
	spec := obj.Get("spec")
	token := authn.AccountToken{Namespace: t.Namespace, Account: account, From: x.cfg.Clock()}
	for _, a := range spec.Get("audiences").Elements() {
		token.Audiences = append(token.Audiences, a.Text())
	}
	if err := x.bindToken(r.Context, t, spec.Get("boundObjectRef"), &token); err != nil {
		return err
	}
	expires := x.limitToken(r, spec, &token)
	if x.features.On("ServiceAccountTokenJTI") {
		token.ID = uuid.NewString()
	}
	text, err := x.issuer.Issue(r.Context, token)
	if err != nil {
		if ended := r.Context.Err(); ended != nil {
			return ended
		}
		return api.Internal("failed to generate token: " + err.Error())
	}
	if token.ID != "" {
		r.Annotate("authentication."+profile.LabelDomain+"/issued-credential-id", authn.TokenCredential(token.ID))
	}
	status := obj.SetObject("status")
	status.SetString("token", text)
	status.SetString("expirationTimestamp", expires.UTC().Format(time.RFC3339))
	return x.env.RespondObject(r, http.StatusCreated, subKind(t), obj.AppendJSON(nil))
}

// keepAccountUID drops what the author of a request cannot set. From 1.34 on the uid is that of the account.
func (x *Endpoints) keepAccountUID(meta document.Value) {
	uid := strings.Clone(meta.Get("uid").Text())
	objects.DropSystemFields(meta)
	if uid != "" && x.cfg.Since("1.34") {
		meta.SetString("uid", uid)
	}
}

// checkAccountUID refuses a request for another account of the name, and fills in the uid.
func (x *Endpoints) checkAccountUID(r *request.Request, obj document.Value, uid string) error {
	if !x.cfg.Since("1.34") {
		return nil
	}
	t, meta := r.Target, obj.SetObject("metadata")
	named := meta.Get("uid").Text()
	if named == "" {
		meta.SetString("uid", uid)
	}
	if named == "" || named == uid {
		return nil
	}
	why := fmt.Sprintf("the UID in the token request (%s) does not match the UID of the service account (%s)", named, uid)
	if x.features.On("TokenRequestServiceAccountUIDValidation") {
		return api.Conflict(api.GroupResource{Group: t.Sub.Group, Resource: t.Sub.Kind}, t.Name, why)
	}
	r.Annotate("authentication."+profile.GroupSuffix+"/token-request-uid-mismatch", why)
	r.Warn(why + " but TokenRequestServiceAccountUIDValidation is not enabled. In the future, this will return a conflict error")
	return nil
}

// completeToken checks a token request, and fills in what it does not say.
func (x *Endpoints) completeToken(t request.Target, obj document.Value) error {
	if err := checkTokenRequest(t, obj); err != nil {
		return err
	}
	meta, spec := obj.SetObject("metadata"), obj.SetObject("spec")
	if err := objects.MatchNamespace(t.Row, meta, t.Namespace); err != nil {
		return err
	}
	meta.SetString("name", t.Name)
	meta.SetString("creationTimestamp", x.objects.Now())
	if spec.Get("audiences").Len() == 0 {
		setTexts(spec, "audiences", x.cfg.APIAudiences)
	}
	status := obj.SetObject("status")
	status.SetString("token", "")
	status.SetNull("expirationTimestamp")
	return nil
}

// limitToken sets the end of a token, and returns the one that its request is answered with.
func (x *Endpoints) limitToken(r *request.Request, spec document.Value, token *authn.AccountToken) (expires time.Time) {
	seconds, _ := spec.Get("expirationSeconds").Int()
	if most := int64(x.cfg.TokenLives.Most / time.Second); most > 0 && seconds > most {
		r.Warn(fmt.Sprintf("requested expiration of %d seconds shortened to %d seconds", seconds, most))
		seconds = most
		spec.SetInt("expirationSeconds", seconds)
	}
	token.To = token.From.Add(time.Duration(seconds) * time.Second)
	expires = token.To
	if x.extends(seconds, token) {
		token.Stale, token.To = token.To, token.From.Add(x.cfg.TokenLives.Extended)
	}
	return expires
}

// TokenLives are bounds of the lives of service accounts' tokens.
type TokenLives struct {
	Most time.Duration // 0 for no bound
	// Extended is the life of the token that every pod has by default; 0 for that of its request.
	Extended time.Duration
}

// The life of the token that every pod has by default, in seconds, and the life that it gets
// so that programs which read it only once go on working.
const (
	defaultPodTokenSeconds = 3607
	ExtendedTokenLife      = 365 * 24 * time.Hour
)

// extends reports whether a token lasts longer than requested: the default one of a pod
// does.
func (x *Endpoints) extends(seconds int64, t *authn.AccountToken) bool {
	own := func(audience string) bool { return slices.Contains(x.cfg.APIAudiences, audience) }
	return x.cfg.TokenLives.Extended > 0 && t.Pod != nil && seconds == defaultPodTokenSeconds && len(t.Audiences) > 0 &&
		!slices.ContainsFunc(t.Audiences, func(a string) bool { return !own(a) })
}

// checkTokenRequest checks the fields of a request.
func checkTokenRequest(t request.Target, obj document.Value) error {
	if name := obj.At("metadata", "name").Text(); name != "" && name != t.Name {
		return api.Invalid(t.Sub.Group, t.Sub.Kind, t.Name, []schema.Cause{{Reason: schema.CauseInvalid, Field: "metadata.name",
			Message: "Invalid value: \"" + name + "\": must match the service account name"}})
	}
	if causes := document.Validate(obj, &t.Row.GV.Validation); len(causes) > 0 {
		return api.Invalid(t.Sub.Group, t.Sub.Kind, "", causes)
	}
	return nil
}

// bindToken binds the token to the pod, the secret or the node without which it is invalid.
func (x *Endpoints) bindToken(ctx context.Context, t request.Target, ref document.Value, token *authn.AccountToken) error {
	if !ref.Exists() || ref.IsNull() {
		return nil
	}
	plural, namespace := map[string]string{"Pod": "pods", "Secret": "secrets", "Node": "nodes"}[ref.Get("kind").Text()], t.Namespace
	known, kinds := plural == "pods" || plural == "secrets", "a Pod or a Secret"
	if x.cfg.Since("1.29") {
		known, kinds = plural != "", "a Pod, a Node or a Secret"
	}
	if !known || strings.Contains(ref.Get("apiVersion").Text(), "/") {
		return api.BadRequest("cannot bind token for serviceaccount %q to object of type %s, version %s: bind it to %s of the core group", t.Name,
			ref.Get("kind").Text(), ref.Get("apiVersion").Text(), kinds)
	}
	if plural == "nodes" {
		if namespace = ""; !x.features.On("ServiceAccountTokenNodeBinding") {
			return api.BadRequest(`cannot bind token to a Node object as the "ServiceAccountTokenNodeBinding" feature-gate is disabled`)
		}
	}
	name := ref.Get("name").Text()
	if name == "" {
		return api.BadRequest("cannot bind token for serviceaccount %q: boundObjectRef.name is missing", t.Name)
	}
	obj, release, err := x.reader.Get(ctx, "", plural, namespace, name)
	defer release()
	if err != nil {
		return err
	}
	bound := referenceTo(obj)
	if uid := ref.Get("uid").Text(); uid != "" && uid != bound.UID {
		e := api.Conflict(api.GroupResource{Resource: plural}, name,
			"the UID in the bound object reference ("+uid+") does not match the UID in record. The object might have been deleted and then recreated")
		e.Kind = ref.Get("kind").Text()
		return e
	}
	switch plural {
	case "secrets":
		token.Secret = &bound
		return nil
	case "nodes":
		token.Node = &bound
		return nil
	}
	if account := obj.At("spec", "serviceAccountName").Text(); account != t.Name {
		return api.BadRequest("cannot bind token for serviceaccount %q to pod running with different serviceaccount name.", t.Name)
	}
	token.Pod = &bound
	if !x.cfg.Since("1.26") || x.features.On("ServiceAccountTokenPodNodeInfo") {
		token.Node, err = x.nodeOf(ctx, obj)
	}
	return err
}

// nodeOf refers to the node of a pod; nil for none.
func (x *Endpoints) nodeOf(ctx context.Context, pod document.Value) (*authn.Reference, error) {
	node := pod.At("spec", "nodeName").Text()
	if node == "" {
		return nil, nil
	}
	where, done, err := x.reader.Get(ctx, "", "nodes", "", node)
	defer done()
	if known := (*api.Error)(nil); errors.As(err, &known) && known.Reason == api.ReasonNotFound {
		return &authn.Reference{Name: strings.Clone(node)}, nil
	}
	if err != nil {
		return nil, err
	}
	found := referenceTo(where)
	return &found, nil
}

func referenceTo(obj document.Value) authn.Reference {
	return authn.Reference{Name: strings.Clone(obj.At("metadata", "name").Text()), UID: strings.Clone(obj.At("metadata", "uid").Text())}
}
