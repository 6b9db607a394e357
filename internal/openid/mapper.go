package openid

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/expression"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// compiler compiles the expressions about claims and about users.
type compiler struct{ claims, user *expression.Scope }

func newCompiler() (*compiler, error) {
	text := &expression.Type{Kind: expression.String}
	texts := &expression.Type{Kind: expression.List, Elem: text}
	user := &expression.Type{Kind: expression.Object, Fields: []expression.Field{{Name: "username", Type: text}, {Name: "uid", Type: text},
		{Name: "groups", Type: texts}, {Name: "extra", Type: &expression.Type{Kind: expression.Map, Elem: texts}}}}
	ts := new(expression.Types)
	ts.Declare(profile.MediaTypeWord+".UserInfo", user)
	all := &expression.Type{Kind: expression.Map, Elem: &expression.Type{Kind: expression.Dynamic}}
	ts.Declare(profile.MediaTypeWord+".claims", all)
	c := &compiler{}
	var err error
	if c.claims, err = expression.NewScope(ts, expression.Variable{Name: "claims", Type: all}); err != nil {
		return nil, err
	}
	c.user, err = expression.NewScope(ts, expression.Variable{Name: "user", Type: user})
	return c, err
}

// compiled is an expression of a file.
type compiled struct {
	*expression.Program
	source, message string
	key             string // of an extra value
}

// value evaluates the expression.
func (c *compiled) value(ctx context.Context, of *expression.Bindings) (expression.Value, error) {
	v, err := c.Call(ctx, of)
	if err != nil {
		return nil, fmt.Errorf("expression '%s' resulted in error: %w", c.source, err)
	}
	return v, nil
}

// holds requires that the expression is true.
func (c *compiled) holds(ctx context.Context, of *expression.Bindings) error {
	v, err := c.value(ctx, of)
	if err == nil && !expression.True(v) {
		err = fmt.Errorf("validation expression '%s' failed: %s", c.source, c.message)
	}
	return err
}

// mapper makes users of claims.
type mapper struct {
	entry                 *jwtIssuer
	credentials           bool // users have the id of their token
	username, groups, uid *compiled
	extra                 []*compiled
	claimRules, userRules []*compiled
}

// user makes the user of the claims of a valid token.
func (m *mapper) user(ctx context.Context, c claims) (*authn.User, error) {
	var bound *expression.Bindings
	if one := m.anyOfClaims(); one != nil {
		doc, err := documentOf(c)
		if err != nil {
			return nil, fmt.Errorf("the claims cannot be read: %w", err)
		}
		defer doc.Release()
		bound = one.Scope().Bind()
		bound.Set(0, doc.Root())
	}
	u := &authn.User{}
	var err error
	if u.Name, err = m.nameOf(ctx, c, bound); err != nil {
		return nil, err
	}
	if u.Groups, err = m.groupsOf(ctx, c, bound); err != nil {
		return nil, err
	}
	if u.UID, err = m.uidOf(ctx, c, bound); err != nil {
		return nil, err
	}
	if u.Extra, err = m.extraOf(ctx, c, bound); err != nil {
		return nil, err
	}
	for i := range m.entry.ClaimValidationRules {
		if err := m.entry.ClaimValidationRules[i].check(c); err != nil {
			return nil, err
		}
	}
	for _, rule := range m.claimRules {
		if err := rule.holds(ctx, bound); err != nil {
			return nil, fmt.Errorf("error evaluating claim validation expression: %w", err)
		}
	}
	return u, m.checkUser(ctx, u)
}

// anyOfClaims is an expression about claims; nil for none.
func (m *mapper) anyOfClaims() *compiled {
	for _, c := range append([]*compiled{m.username, m.groups, m.uid}, append(m.extra, m.claimRules...)...) {
		if c != nil {
			return c
		}
	}
	return nil
}

func documentOf(v any) (*document.Document, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return document.DecodeAny(text, document.Limits{})
}

// check requires the value of a claim. Rules with expressions are others.
func (r *claimRule) check(c claims) error {
	if r.Claim == "" {
		return nil
	}
	var value string
	if err := c.read(r.Claim, &value); err != nil {
		return err
	}
	if value != r.RequiredValue {
		return fmt.Errorf("claim %q is not what is required", r.Claim)
	}
	return nil
}

// nameOf is the name of the user.
func (m *mapper) nameOf(ctx context.Context, c claims, bound *expression.Bindings) (name string, err error) {
	if m.username != nil {
		if name, err = m.username.text(ctx, bound); err != nil {
			return "", fmt.Errorf("error evaluating username claim expression: %w", err)
		}
		if name == "" {
			return "", errors.New("empty username via CEL expression is not allowed")
		}
		return name, nil
	}
	from := &m.entry.ClaimMappings.Username
	if err := c.read(from.Claim, &name); err != nil {
		return "", err
	}
	if _, says := c["email_verified"]; says && from.Claim == emailClaim {
		var verified bool
		if err := c.read("email_verified", &verified); err != nil {
			return "", err
		}
		if !verified {
			return "", errors.New("the issuer has not verified the address of the user")
		}
	}
	if name == "" {
		return "", fmt.Errorf("claim %q is empty", from.Claim)
	}
	return from.prefix() + name, nil
}

func (m *mapping) prefix() string {
	if m.Prefix == nil {
		return ""
	}
	return *m.Prefix
}

// text evaluates an expression whose value has to be a text.
func (c *compiled) text(ctx context.Context, of *expression.Bindings) (string, error) {
	v, err := c.value(ctx, of)
	if err != nil {
		return "", err
	}
	text, ok := v.Value().(string)
	if !ok {
		return "", fmt.Errorf("expression '%s' must return a string", c.source)
	}
	return text, nil
}

// texts evaluates an expression whose value has to be a text, a list of texts, or null. Empty texts do not count.
func (c *compiled) texts(ctx context.Context, of *expression.Bindings) ([]string, error) {
	v, err := c.value(ctx, of)
	if err != nil {
		return nil, err
	}
	texts, ok := expression.TextsOf(v)
	if !ok {
		return nil, errors.New("expression must return a string or a list of strings")
	}
	return texts, nil
}

func (m *mapper) groupsOf(ctx context.Context, c claims, bound *expression.Bindings) ([]string, error) {
	if m.groups != nil {
		groups, err := m.groups.texts(ctx, bound)
		if err != nil {
			return nil, fmt.Errorf("error evaluating group claim expression: %w", err)
		}
		return groups, nil
	}
	from := &m.entry.ClaimMappings.Groups
	if from.Claim == "" || c[from.Claim] == nil {
		return nil, nil
	}
	var groups oneOrMore
	if err := c.read(from.Claim, &groups); err != nil {
		return nil, err
	}
	var all []string
	for _, g := range groups {
		all = append(all, from.prefix()+g)
	}
	return all, nil
}

func (m *mapper) uidOf(ctx context.Context, c claims, bound *expression.Bindings) (uid string, err error) {
	if m.uid != nil {
		if uid, err = m.uid.text(ctx, bound); err != nil {
			return "", fmt.Errorf("error evaluating uid claim expression: %w", err)
		}
	} else if from := m.entry.ClaimMappings.UID.Claim; from != "" {
		err = c.read(from, &uid)
	}
	return uid, err
}

func (m *mapper) extraOf(ctx context.Context, c claims, bound *expression.Bindings) (map[string][]string, error) {
	extra := map[string][]string{}
	var id string
	if m.credentials && c.read("jti", &id) == nil && id != "" {
		extra[authn.CredentialExtra] = []string{authn.TokenCredential(id)}
	}
	for _, e := range m.extra {
		values, err := e.texts(ctx, bound)
		if err != nil {
			return nil, fmt.Errorf("error evaluating extra claim expression: %s: %w", e.source, err)
		}
		if len(values) > 0 {
			extra[e.key] = values
		}
	}
	if len(extra) == 0 {
		return nil, nil
	}
	return extra, nil
}

// checkUser applies the rules about users.
func (m *mapper) checkUser(ctx context.Context, u *authn.User) error {
	if len(m.userRules) == 0 {
		return nil
	}
	info := map[string]any{"username": u.Name, "uid": u.UID, "groups": append([]string{}, u.Groups...), "extra": map[string][]string{}}
	if u.Extra != nil {
		info["extra"] = u.Extra
	}
	doc, err := documentOf(info)
	if err != nil {
		return err
	}
	defer doc.Release()
	bound := m.userRules[0].Scope().Bind()
	bound.Set(0, doc.Root())
	for _, rule := range m.userRules {
		if err := rule.holds(ctx, bound); err != nil {
			return fmt.Errorf("error evaluating user info validation rule: %w", err)
		}
	}
	return nil
}
