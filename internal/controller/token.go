package controller

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/store"
)

// accountTokens is the controller of secrets with a token of a service account: it fills
// them in, deletes them with their account, and removes deleted ones from the account's
// list.
type accountTokens struct {
	*cluster
	secrets, accounts *Type
	queue             *queue[string]      // keys of secrets
	references        *queue[tokenSecret] // deleted secrets

	// used by the feed's goroutine only
	byAccount map[string]map[string]bool // keys of secrets by those of accounts
	accountOf map[string]string          // the other way
}

// tokenSecret is a secret and the account that it belongs to.
type tokenSecret struct{ namespace, secret, account string }

const (
	accountNameAnnotation = profile.LabelDomain + "/service-account.name"
	accountUIDAnnotation  = profile.LabelDomain + "/service-account.uid"
	tokenSecretType       = profile.LabelDomain + "/service-account-token"
)

func newAccountTokens(ctx context.Context, c *cluster) handler {
	a := &accountTokens{cluster: c, secrets: c.find("", "secrets"), accounts: c.find("", "serviceaccounts"),
		byAccount: map[string]map[string]bool{}, accountOf: map[string]string{}}
	a.queue = newQueue(ctx, AccountToken, parallel, c.Logger, a.sync)
	a.references = newQueue(ctx, AccountToken, parallel, c.Logger, a.forget)
	return a
}

func (a *accountTokens) wants(t *Type) bool { return t == a.secrets }

func (a *accountTokens) reset() {
	clear(a.byAccount)
	clear(a.accountOf)
}

func (a *accountTokens) close() {
	a.queue.close()
	a.references.close()
}

// secretType is the type of a secret.
func secretType(body []byte) string {
	text, _ := document.Find(body, "type")
	return document.Unquote(text)
}

// annotation is the value of an annotation.
func annotation(body []byte, name string) string {
	text, _ := document.Find(body, "metadata", "annotations", name)
	return document.Unquote(text)
}

func (a *accountTokens) observe(_ context.Context, o *observation) {
	switch o.typ {
	case a.accounts:
		if o.op == store.OpDelete || o.op == store.OpCreate { // a new one may have the name of another
			for key := range a.byAccount[o.key] {
				a.queue.add(key)
			}
		}
	case a.secrets:
		if secretType(o.body) != tokenSecretType {
			return
		}
		namespace, name := o.typ.split(o.key)
		account := annotation(o.body, accountNameAnnotation)
		key := strings.Clone(o.key)
		a.index(key, a.accounts.key(namespace, account), o.op != store.OpDelete)
		if o.op == store.OpDelete {
			a.references.add(tokenSecret{strings.Clone(namespace), strings.Clone(name), strings.Clone(account)})
			return
		}
		a.queue.add(key)
	}
}

// index notes the account of a secret.
func (a *accountTokens) index(secret, account string, exists bool) {
	if before, ok := a.accountOf[secret]; ok {
		delete(a.accountOf, secret)
		if delete(a.byAccount[before], secret); len(a.byAccount[before]) == 0 {
			delete(a.byAccount, before)
		}
	}
	if !exists {
		return
	}
	a.accountOf[secret] = account
	if a.byAccount[account] == nil {
		a.byAccount[account] = map[string]bool{}
	}
	a.byAccount[account][secret] = true
}

// again queues all secrets after a change of the authority in them.
func (a *accountTokens) again() { a.queue.add(everySecret) }

// everySecret stands for all secrets in the queue; it is not a key.
const everySecret = ""

func (a *accountTokens) syncAll(ctx context.Context) error {
	view, err := a.Store.At(ctx, 0)
	if err != nil {
		return err
	}
	defer func() { _ = view.Close() }()
	return view.Scan(ctx, a.secrets.Prefix, "", func(e *store.Entry) bool {
		if secretType(e.Body) == tokenSecretType {
			a.queue.add(strings.Clone(e.Key))
		}
		return true
	})
}

// sync fills in one secret, or deletes it when its account is gone.
func (a *accountTokens) sync(ctx context.Context, key string) error {
	if key == everySecret {
		return a.syncAll(ctx)
	}
	e, err := a.Store.Get(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	account := annotation(e.Body, accountNameAnnotation)
	if secretType(e.Body) != tokenSecretType || account == "" || terminating(e.Body) {
		return nil
	}
	namespace, name := a.secrets.split(key)
	uid, err := a.uidOf(ctx, namespace, account)
	if err != nil {
		return err
	}
	if wanted := annotation(e.Body, accountUIDAnnotation); uid == "" || wanted != "" && wanted != uid {
		return a.remove(ctx, namespace, name, e.Body)
	}
	return a.fill(ctx, namespace, name, account, uid, e.Body)
}

// uidOf is the uid of an account, "" for a missing one.
func (a *accountTokens) uidOf(ctx context.Context, namespace, account string) (string, error) {
	e, err := a.Store.Get(ctx, a.accounts.key(namespace, account))
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return uidIn(e.Body), nil
}

func uidIn(body []byte) string {
	text, _ := document.Find(body, "metadata", "uid")
	return document.Unquote(text)
}

func (a *accountTokens) remove(ctx context.Context, namespace, name string, body []byte) error {
	err := a.Cluster.Delete(ctx, a.secrets.Resource, namespace, name, DeleteOptions{UID: uidIn(body)})
	if hasReason(err, api.ReasonConflict) {
		return nil // another one has the name
	}
	return ignoreNotFound(err)
}

// fill writes the missing parts of a secret.
func (a *accountTokens) fill(ctx context.Context, namespace, name, account, uid string, body []byte) error {
	var have map[string][]byte
	data, _ := document.Find(body, "data")
	_ = json.Unmarshal(data, &have) // validated when it was stored
	want := map[string][]byte{"namespace": []byte(namespace)}
	if ca := a.RootCA(); len(ca) > 0 {
		want["ca.crt"] = ca
	}
	if len(have["token"]) == 0 {
		token, err := a.SecretToken(namespace, account, uid, name)
		if err != nil {
			return err
		}
		want["token"] = []byte(token)
	}
	right := annotation(body, accountUIDAnnotation) == uid
	for key, value := range want {
		right = right && bytes.Equal(have[key], value)
	}
	if right {
		return nil
	}
	return ignoreNotFound(a.Cluster.Edit(ctx, a.secrets.Resource, namespace, name, "", func(obj document.Value) {
		if obj.At("metadata", "uid").Text() != uidIn(body) {
			return // another one has the name
		}
		obj.SetObject("metadata").SetObject("annotations").SetString(accountUIDAnnotation, uid)
		data := obj.SetObject("data")
		for key, value := range want {
			if key != "token" || data.Get(key).Text() == "" {
				data.SetString(key, base64.StdEncoding.EncodeToString(value))
			}
		}
	}))
}

// forget removes a deleted secret from the list of its account.
func (a *accountTokens) forget(ctx context.Context, s tokenSecret) error {
	if _, err := a.Store.Get(ctx, a.secrets.key(s.namespace, s.secret)); !errors.Is(err, store.ErrNotFound) {
		return err // it exists again
	}
	return ignoreNotFound(a.Cluster.Edit(ctx, a.accounts.Resource, s.namespace, s.account, "", func(obj document.Value) {
		obj.Get("secrets").RemoveFunc(func(v document.Value) bool { return v.Get("name").Equals(s.secret) })
		if list := obj.Get("secrets"); list.Exists() && list.Len() == 0 {
			obj.Remove("secrets")
		}
	}))
}
