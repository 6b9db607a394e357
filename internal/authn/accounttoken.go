package authn

import (
	"context"
	"crypto"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// LegacyIssuer is the issuer of tokens in secrets, which have no end.
const LegacyIssuer = profile.MediaTypeWord + "/serviceaccount"

// Bound is an object on which a token depends.
type Bound struct {
	UID     string
	Deleted time.Time // the deletionTimestamp; zero for none
	Token   []byte    // of a secret: the token in it
}

// AccountObjects finds the objects of tokens: serviceaccounts, secrets, pods and nodes.
type AccountObjects interface {
	// Bound returns an object as it is after the last acknowledged write; that of a node has no
	// namespace. A missing one is an error.
	Bound(ctx context.Context, plural, namespace, name string) (Bound, error)
}

// AccountTokenConfig describes the service accounts' tokens that are accepted.
type AccountTokenConfig struct {
	Issuers   []string
	Keys      []crypto.PublicKey // RSA or ECDSA
	External  ExternalSigner     // has the keys in place of Keys; nil for none
	Audiences []string           // of tokens that name none
	// Lookup refuses tokens in secrets once secret or account are gone. Other tokens
	// always depend on their objects.
	Lookup  bool
	Objects AccountObjects
	Clock   func() time.Time
	// CredentialIDs has users with the id of their token as an extra value, PodNodes with the
	// node of the pod that it is bound to.
	CredentialIDs, PodNodes bool
	// NodeTokens accepts tokens that are bound to a node alone.
	NodeTokens bool
}

// AccountTokens authenticates service accounts by their tokens (RFC 7519): those that a
// TokenIssuer signed, and those in secrets. A token ends with its account, and with the
// pod, the secret or the node that it is bound to.
//
// Invariant: the signature of a token in verified is valid by the keys of its generation; everything that depends on the
// time or on objects is checked at each use.
type AccountTokens struct {
	cfg      AccountTokenConfig
	verified *Cache[*accountLogin]

	// Uses counts requests.
	Uses TokenUses
}

// TokenUses are numbers of requests by the tokens of service accounts: those of pods that
// end by themselves, those of them that a client should have renewed, and those in secrets.
type TokenUses struct{ Valid, Stale, Legacy atomic.Int64 }

// The annotations about tokens that a client should replace.
const (
	staleNote  = "authentication." + profile.GroupSuffix + "/stale-token"
	legacyNote = "authentication." + profile.GroupSuffix + "/legacy-token"
)

// count counts a use, and returns the identity of the bearer.
func (u *TokenUses) count(l *accountLogin, now time.Time) *Identity {
	switch late := now.Sub(time.Unix(l.Stale, 0)); {
	case l.secretToken:
		u.Legacy.Add(1)
	case l.Stale == 0:
	case late <= 0:
		u.Valid.Add(1)
	default:
		u.Stale.Add(1)
		noted := *l.identity
		noted.Note = Note{staleNote, fmt.Sprintf("subject: %s, seconds after warning threshold: %d", l.standard.Subject, now.Unix()-l.Stale)}
		return &noted
	}
	return l.identity
}

// NewAccountTokens returns the authenticator of a configuration.
func NewAccountTokens(cfg AccountTokenConfig) *AccountTokens {
	return &AccountTokens{cfg: cfg, verified: NewCache[*accountLogin]()}
}

// accountLogin is the content of a token with a valid signature.
type accountLogin struct {
	standard jwt.Claims
	accountClaims
	generation  uint64 // of the keys that verified it
	secretToken bool   // it is one of those in secrets
	identity    *Identity
}

// MaxTokenBytes bounds a token that is parsed.
const MaxTokenBytes = 64 << 10

// maxClockSkew is the difference between the clocks of machines for which the times of a
// token are relaxed. An object counts for as long after its deletion.
const maxClockSkew = jwt.DefaultLeeway

// tokenAlgorithms are those by which service accounts' tokens are signed.
var tokenAlgorithms = []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.ES384, jose.ES512}

// SignsTokens reports whether an algorithm, "ES256", is one of them.
func SignsTokens(algorithm string) bool {
	return slices.Contains(tokenAlgorithms, jose.SignatureAlgorithm(algorithm))
}

// AuthenticateToken implements TokenAuthenticator. Tokens of other issuers, and texts that
// are no tokens of this kind, are not known.
func (a *AccountTokens) AuthenticateToken(ctx context.Context, token string) (*Identity, error) {
	if len(token) > MaxTokenBytes {
		return nil, nil
	}
	generation := a.generation()
	login, ok := a.verified.Get(token)
	if !ok || login.generation != generation {
		if issuer := ClaimedIssuer(token); issuer != LegacyIssuer && !slices.Contains(a.cfg.Issuers, issuer) {
			return nil, nil
		}
		var err error
		if login, err = a.verify(ctx, token); login == nil || err != nil {
			return nil, err
		}
		login.generation = generation
		a.verified.Put(token, login)
	}
	if err := a.valid(ctx, login, token); err != nil {
		return nil, err
	}
	return a.Uses.count(login, a.cfg.Clock()), nil
}

// ClaimedIssuer is the issuer that a token names, before anything is verified; "" for a
// text that is not a token.
func ClaimedIssuer(token string) string {
	if len(token) > MaxTokenBytes {
		return ""
	}
	_, rest, _ := strings.Cut(token, ".")
	payload, rest, ok := strings.Cut(rest, ".")
	if !ok || strings.Contains(rest, ".") {
		return ""
	}
	text, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil {
		return ""
	}
	var claims struct {
		Issuer string `json:"iss"`
	}
	_ = json.Unmarshal(text, &claims) // then it names none
	return claims.Issuer
}

// verify checks the signature of a token and reads its claims.
func (a *AccountTokens) verify(ctx context.Context, token string) (*accountLogin, error) {
	parsed, err := jwt.ParseSigned(token, tokenAlgorithms)
	if err != nil {
		return nil, nil // not a token of a service account
	}
	var own map[string]json.RawMessage
	login := &accountLogin{}
	err = errors.New("no key to verify it with")
	for _, key := range a.keysFor(ctx, parsed) {
		if err = parsed.Claims(key, &login.standard, &own); err == nil {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the signature of a service account's token is not valid: %w", err)
	}
	if err := login.read(own); err != nil {
		return nil, err
	}
	c := &login.accountClaims
	user := ServiceAccount(c.Namespace, c.Account.Name, c.Account.UID)
	user.Extra = a.extraOf(login)
	login.identity = Known(user)
	if login.identity.Audiences = login.standard.Audience; len(login.identity.Audiences) == 0 {
		login.identity.Audiences = a.cfg.Audiences
	}
	if login.secretToken {
		login.identity.Note = Note{legacyNote, login.standard.Subject}
	}
	return login, nil
}

// extraOf are the extra values of the user of a token; nil for none.
func (a *AccountTokens) extraOf(l *accountLogin) map[string][]string {
	extra := map[string][]string{}
	if l.Pod != nil {
		extra[podNameExtra], extra[podUIDExtra] = []string{l.Pod.Name}, []string{l.Pod.UID}
	}
	if n := l.Node; n != nil && n.Name != "" && (l.Pod == nil || a.cfg.PodNodes) {
		extra[nodeNameExtra] = []string{n.Name}
		if n.UID != "" {
			extra[nodeUIDExtra] = []string{n.UID}
		}
	}
	if a.cfg.CredentialIDs && l.standard.ID != "" && !l.secretToken {
		extra[CredentialExtra] = []string{TokenCredential(l.standard.ID)}
	}
	if len(extra) == 0 {
		return nil
	}
	return extra
}

// CredentialExtra is the key of the extra value that names the credential of a user.
const CredentialExtra = "authentication." + profile.LabelDomain + "/credential-id"

// TokenCredential names the credential that a token with an id (jti) is.
func TokenCredential(id string) string { return "JTI=" + id }

// The extra values of a user whose token is bound to a pod; those of its node are younger
// than 1.25.
const (
	nodeNameExtra = "authentication." + profile.LabelDomain + "/node-name"
	nodeUIDExtra  = "authentication." + profile.LabelDomain + "/node-uid"
	podNameExtra  = "authentication." + profile.LabelDomain + "/pod-name"
	podUIDExtra   = "authentication." + profile.LabelDomain + "/pod-uid"
)

// NodeOfAccount is the node on which a service account runs, by its token; "" for others.
func NodeOfAccount(user *User) string {
	if user == nil || len(user.Extra[nodeNameExtra]) != 1 {
		return ""
	}
	if _, _, is := SplitServiceAccount(user.Name); !is {
		return ""
	}
	return user.Extra[nodeNameExtra][0]
}

// generation is that of the present keys, which does not change without an external signer.
func (a *AccountTokens) generation() uint64 {
	if a.cfg.External == nil {
		return 0
	}
	return a.cfg.External.Generation()
}

// keysFor are the keys by which a token may be signed, the one that it names first. Of an external signer
// those that it does not name do not count.
func (a *AccountTokens) keysFor(ctx context.Context, token *jwt.JSONWebToken) (keys []crypto.PublicKey) {
	if a.cfg.External != nil {
		for _, key := range a.cfg.External.Keys(ctx, token.Headers[0].KeyID) { // of one signature
			keys = append(keys, key.Key)
		}
		return keys
	}
	keys = slices.Clone(a.cfg.Keys)
	if len(token.Headers) == 1 && token.Headers[0].KeyID != "" {
		slices.SortStableFunc(keys, func(x, y crypto.PublicKey) int {
			named := func(k crypto.PublicKey) int {
				if id, err := keyID(k); err == nil && id == token.Headers[0].KeyID {
					return 0
				}
				return 1
			}
			return named(x) - named(y)
		})
	}
	return keys
}

// read takes the claims of the account.
func (l *accountLogin) read(own map[string]json.RawMessage) error {
	if l.standard.Issuer != LegacyIssuer {
		if err := json.Unmarshal(own[profile.LabelDomain], &l.accountClaims); err != nil {
			return errors.New("a token of a service account has no claims about it")
		}
		return l.checkNames()
	}
	l.secretToken = true
	text := func(name string) (s string) {
		_ = json.Unmarshal(own[profile.LabelDomain+"/serviceaccount/"+name], &s) // then it is missing
		return s
	}
	l.Namespace, l.Account = text("namespace"), Reference{Name: text("service-account.name"), UID: text("service-account.uid")}
	l.Secret = &Reference{Name: text("secret.name")}
	if l.Account.UID == "" || l.standard.Subject != AccountName(l.Namespace, l.Account.Name) {
		return errors.New("a token in a secret lacks claims about its service account, or has some that contradict each other")
	}
	return l.checkNames()
}

// checkNames refuses names that no object has.
func (l *accountLogin) checkNames() error {
	_, _, ok := SplitServiceAccount(AccountName(l.Namespace, l.Account.Name))
	for _, r := range []*Reference{l.Pod, l.Secret, l.boundNode()} {
		ok = ok && (r == nil || r.Name != "" && !strings.ContainsAny(r.Name, "/\x00"))
	}
	if !ok {
		return errors.New("a token of a service account names an object that cannot exist")
	}
	return nil
}

// valid checks the times and the objects of a token.
func (a *AccountTokens) valid(ctx context.Context, l *accountLogin, token string) error {
	now := a.cfg.Clock()
	switch err := l.standard.ValidateWithLeeway(jwt.Expected{Time: now}, maxClockSkew); {
	case errors.Is(err, jwt.ErrExpired):
		return errors.New("service account token has expired")
	case errors.Is(err, jwt.ErrNotValidYet), errors.Is(err, jwt.ErrIssuedInTheFuture):
		return errors.New("service account token is not valid yet")
	case err != nil:
		return fmt.Errorf("service account token claims could not be validated: %w", err)
	}
	if l.secretToken && !a.cfg.Lookup {
		return nil
	}
	grace := maxClockSkew
	if l.secretToken {
		grace = 0
	}
	alive := func(plural string, r *Reference) (Bound, error) {
		namespace, named := l.Namespace, l.Namespace+"/"+r.Name
		if plural == "nodes" {
			namespace, named = "", r.Name
		}
		of, err := a.cfg.Objects.Bound(ctx, plural, namespace, r.Name)
		switch {
		case err != nil:
			return of, err
		case !of.Deleted.IsZero() && of.Deleted.Before(now.Add(-grace)):
			return of, fmt.Errorf("%s %s has been deleted", plural, named)
		case r.UID != of.UID && !(l.secretToken && plural == "secrets"): // those name no uid
			return of, fmt.Errorf("the UID of %s %s (%s) does not match the one in the token (%s)", plural, named, of.UID, r.UID)
		}
		return of, nil
	}
	if _, err := alive("serviceaccounts", &l.Account); err != nil {
		return err
	}
	if l.Secret != nil {
		secret, err := alive("secrets", l.Secret)
		if err != nil {
			return fmt.Errorf("service account token has been invalidated: %w", err)
		}
		if l.secretToken && subtle.ConstantTimeCompare(secret.Token, []byte(token)) != 1 {
			return errors.New("the token is not the one in its secret")
		}
	}
	for plural, r := range map[string]*Reference{"pods": l.Pod, "nodes": l.boundNode()} {
		if r == nil {
			continue
		}
		if plural == "nodes" && !a.cfg.NodeTokens {
			return errors.New("token is bound to a Node object but the ServiceAccountTokenNodeBindingValidation feature gate is disabled")
		}
		if _, err := alive(plural, r); err != nil {
			return fmt.Errorf("service account token has been invalidated: %w", err)
		}
	}
	return nil
}

// boundNode is the node without which the token is invalid; nil for none. The node of a pod is
// information only.
func (l *accountLogin) boundNode() *Reference {
	if l.Pod != nil {
		return nil
	}
	return l.Node
}
