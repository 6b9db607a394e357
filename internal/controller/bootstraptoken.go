package controller

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
)

// The config map cluster-info of kube-public says how to reach the cluster, and is signed
// by each bootstrap token, so that a node that knows one knows that nobody has changed it.
const (
	clusterInfoNamespace = "kube-public"
	clusterInfo          = "cluster-info"
	signaturePrefix      = "jws-kubeconfig-"
)

// isBootstrapToken reports whether an observation is of the secret of a bootstrap token.
func (c *cluster) isBootstrapToken(secrets *Type, o *observation) bool {
	return o.typ == secrets && strings.HasPrefix(o.key, secrets.key(authn.BootstrapTokenNamespace, authn.BootstrapTokenPrefix)) &&
		secretType(o.body) == authn.BootstrapTokenType
}

// tokenCleaner is the controller that deletes the secrets of bootstrap tokens at their end.
type tokenCleaner struct {
	*cluster
	secrets *Type
	queue   *queue[string] // by name
}

func newTokenCleaner(ctx context.Context, c *cluster) handler {
	t := &tokenCleaner{cluster: c, secrets: c.find("", "secrets")}
	t.queue = newQueue(ctx, TokenCleaner, 1, c.Logger, t.clean)
	return t
}

func (t *tokenCleaner) wants(typ *Type) bool { return typ == t.secrets }
func (t *tokenCleaner) reset()               {}
func (t *tokenCleaner) close()               { t.queue.close() }

func (t *tokenCleaner) observe(_ context.Context, o *observation) {
	if o.op != store.OpDelete && t.isBootstrapToken(t.secrets, o) {
		_, name := t.secrets.split(o.key)
		t.queue.add(strings.Clone(name))
	}
}

// longestWait bounds the time until a token is looked at again, for clocks that are set.
const longestWait = time.Hour

// clean deletes a token whose time is over.
func (t *tokenCleaner) clean(ctx context.Context, name string) error {
	e, err := t.Store.Get(ctx, t.secrets.key(authn.BootstrapTokenNamespace, name))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	token, err := authn.ReadBootstrapToken(e.Body)
	if err != nil {
		return err
	}
	at, limited := token.End()
	if !limited {
		return nil
	}
	if left := at.Sub(t.Now()); left > 0 {
		t.queue.addAfter(name, min(left, longestWait))
		return nil
	}
	err = t.Cluster.Delete(ctx, t.secrets.Resource, authn.BootstrapTokenNamespace, name, DeleteOptions{UID: token.Metadata.UID})
	if hasReason(err, api.ReasonConflict) {
		return nil // another token of that name
	}
	return ignoreNotFound(err)
}

// infoSigner is the controller that signs the config map cluster-info.
type infoSigner struct {
	*cluster
	secrets, configMaps *Type
	queue               *queue[struct{}]
}

func newInfoSigner(ctx context.Context, c *cluster) handler {
	s := &infoSigner{cluster: c, secrets: c.find("", "secrets"), configMaps: c.find("", "configmaps")}
	s.queue = newQueue(ctx, BootstrapSigner, 1, c.Logger, func(ctx context.Context, _ struct{}) error { return s.sign(ctx) })
	return s
}

func (s *infoSigner) wants(t *Type) bool { return t == s.secrets || t == s.configMaps }
func (s *infoSigner) reset()             {}
func (s *infoSigner) close()             { s.queue.close() }

func (s *infoSigner) observe(_ context.Context, o *observation) {
	if s.isBootstrapToken(s.secrets, o) || o.typ == s.configMaps && o.op != store.OpDelete && o.key == s.configMaps.key(clusterInfoNamespace, clusterInfo) {
		s.queue.add(struct{}{})
	}
}

// sign writes the signatures of all tokens into the config map, and removes others.
func (s *infoSigner) sign(ctx context.Context) error {
	e, err := s.Store.Get(ctx, s.configMaps.key(clusterInfoNamespace, clusterInfo))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	tokens, ends, err := s.tokens(ctx)
	if !ends.IsZero() {
		s.queue.addAfter(struct{}{}, min(max(ends.Sub(s.Now()), 0), longestWait))
	}
	if err != nil || maps.Equal(signatures(e.Body), wantedSignatures(e.Body, tokens)) {
		return err
	}
	return ignoreNotFound(s.Cluster.Edit(ctx, s.configMaps.Resource, clusterInfoNamespace, clusterInfo, "", func(obj document.Value) {
		body := obj.AppendJSON(nil)
		have, want := signatures(body), wantedSignatures(body, tokens)
		data := obj.Get("data")
		for name := range have {
			if want[name] == "" {
				data.Remove(name)
			}
		}
		for name, signature := range want {
			data.SetString(name, signature)
		}
	}))
}

// signs reports whether a token signs at a time.
func signs(t *authn.BootstrapToken, now time.Time) bool {
	return t.Type == authn.BootstrapTokenType && t.ID() != "" && t.Metadata.Name == authn.BootstrapTokenPrefix+t.ID() &&
		len(t.Secret()) > 0 && t.For("signing") && !t.Ended(now)
}

// tokens are the signing tokens, secrets by id, and the time when the first of them ends;
// zero if none does.
func (s *infoSigner) tokens(ctx context.Context) (all map[string][]byte, ends time.Time, err error) {
	view, err := s.Store.At(ctx, 0)
	if err != nil {
		return nil, ends, err
	}
	defer func() { _ = view.Close() }()
	all = map[string][]byte{}
	now := s.Now()
	err = view.Scan(ctx, s.secrets.key(authn.BootstrapTokenNamespace, authn.BootstrapTokenPrefix), "", func(e *store.Entry) bool {
		token, err := authn.ReadBootstrapToken(e.Body)
		if err != nil || !signs(&token, now) {
			return true
		}
		all[token.ID()] = token.Secret()
		if at, limited := token.End(); limited && (ends.IsZero() || at.Before(ends)) {
			ends = at
		}
		return true
	})
	return all, ends, err
}

// signatures are those in the config map, by the names of its data.
func signatures(body []byte) map[string]string {
	all := map[string]string{}
	for name, value := range infoData(body) {
		if strings.HasPrefix(name, signaturePrefix) {
			all[name] = value
		}
	}
	return all
}

// wantedSignatures are those that the config map should have. One that has nothing to sign
// keeps what it has.
func wantedSignatures(body []byte, tokens map[string][]byte) map[string]string {
	content, ok := infoData(body)["kubeconfig"]
	if !ok {
		return signatures(body)
	}
	all := map[string]string{}
	for id, secret := range tokens {
		all[signaturePrefix+id] = detachedSignature(content, id, secret)
	}
	return all
}

func infoData(body []byte) (data map[string]string) {
	text, _ := document.Find(body, "data")
	_ = json.Unmarshal(text, &data) // a stored map of strings
	return data
}

// detachedSignature is the JSON Web Signature (RFC 7515, compact, appendix F) of a text
// that it does not contain.
func detachedSignature(content, id string, secret []byte) string {
	encode := base64.RawURLEncoding.EncodeToString
	header, _ := json.Marshal(struct { // texts can always be encoded
		Algorithm string `json:"alg"`
		ID        string `json:"kid"`
	}{"HS256", id})
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(encode(header) + "." + encode([]byte(content))))
	return encode(header) + ".." + encode(mac.Sum(nil))
}
