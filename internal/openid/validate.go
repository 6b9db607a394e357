package openid

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/capstan-dev/capstan/internal/expression"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// mostIssuers bounds the issuers of a file.
const mostIssuers = 64

// checker finds the mistakes of a configuration, in the words of kube-apiserver, and compiles its expressions.
type checker struct {
	compile     *compiler
	own         []string // issuers of service accounts, sorted, which a file cannot name
	credentials bool
	wrong       field.ErrorList
}

func (k *checker) add(wrong ...*field.Error) { k.wrong = append(k.wrong, wrong...) }

// all checks a configuration, and returns what makes the users of each issuer.
func (k *checker) all(c *configuration, anonymous bool) (mappers []*mapper) {
	root := field.NewPath("jwt")
	if len(c.JWT) > mostIssuers {
		k.add(field.TooMany(root, len(c.JWT), mostIssuers))
		return nil
	}
	var urls, discovered []string
	for i := range c.JWT {
		e, at := &c.JWT[i], root.Index(i)
		mappers = append(mappers, k.issuer(e, at))
		urls = k.once(at.Child("issuer", "url"), e.Issuer.URL, urls)
		if e.Issuer.DiscoveryURL != "" {
			discovered = k.once(at.Child("issuer", "discoveryURL"), e.Issuer.DiscoveryURL, discovered)
		}
	}
	if a, at := c.Anonymous, field.NewPath("anonymous"); a != nil {
		if !anonymous {
			k.add(field.Forbidden(at, "anonymous is not supported when AnonymousAuthConfigurableEndpoints feature gate is disabled"))
		}
		if !a.Enabled && len(a.Conditions) > 0 {
			var shown []struct{ Path string }
			for _, c := range a.Conditions {
				shown = append(shown, struct{ Path string }(c))
			}
			k.add(field.Invalid(at.Child("conditions"), shown, "enabled should be set to true when conditions are defined"))
		}
	}
	return mappers
}

// once notes a value, and refuses it if it was there before.
func (k *checker) once(at *field.Path, value string, seen []string) []string {
	if slices.Contains(seen, value) {
		k.add(field.Duplicate(at, value))
	}
	return append(seen, value)
}

// issuer checks an issuer.
func (k *checker) issuer(e *jwtIssuer, at *field.Path) *mapper {
	m := &mapper{entry: e, credentials: k.credentials}
	k.place(&e.Issuer, at.Child("issuer"))
	k.claimRules(m, at.Child("claimValidationRules"))
	k.mappings(m, at.Child("claimMappings"))
	var seen []string
	for i, rule := range e.UserValidationRules {
		at := at.Child("userValidationRules").Index(i).Child("expression")
		switch {
		case rule.Expression == "":
			k.add(field.Required(at, ""))
			continue
		case slices.Contains(seen, rule.Expression):
			k.add(field.Duplicate(at, rule.Expression))
			continue
		}
		seen = append(seen, rule.Expression)
		if c := k.expression(k.compile.user, at, rule.Expression, expression.Condition); c != nil {
			c.message = rule.Message
			m.userRules = append(m.userRules, c)
		}
	}
	return m
}

// place checks where an issuer is, and for whom its tokens are.
func (k *checker) place(i *issuerEntry, at *field.Path) {
	if i.URL == "" {
		k.add(field.Required(at.Child("url"), ""))
	} else {
		k.url(at.Child("url"), i.URL, k.own)
	}
	if i.DiscoveryURL != "" {
		if i.URL != "" && strings.TrimRight(i.URL, "/") == strings.TrimRight(i.DiscoveryURL, "/") {
			k.add(field.Invalid(at.Child("discoveryURL"), i.DiscoveryURL, "discoveryURL must be different from URL"))
		}
		k.url(at.Child("discoveryURL"), i.DiscoveryURL, nil)
	}
	k.audiences(i, at.Child("audiences"), at.Child("audienceMatchPolicy"))
	if ca := i.CertificateAuthority; ca != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(ca)) {
		k.add(field.Invalid(at.Child("certificateAuthority"), "<omitted>", "data does not contain any valid RSA or ECDSA certificates"))
	}
	switch t := i.EgressSelectorType; t {
	case "":
	case "controlplane", "cluster":
		k.add(field.Invalid(at.Child("egressSelectorType"), t, "this server reaches issuers directly, and has no egress selectors"))
	default:
		k.add(field.Invalid(at.Child("egressSelectorType"), t, "egress selector must be either controlplane or cluster"))
	}
}

// url checks the URL of an issuer, which is none of some others.
func (k *checker) url(at *field.Path, text string, others []string) {
	wrong := func(why string) { k.add(field.Invalid(at, text, why)) }
	if slices.Contains(others, text) {
		wrong(fmt.Sprintf("URL must not overlap with disallowed issuers: %s", others))
	}
	u, err := url.Parse(text)
	if err != nil {
		wrong(err.Error())
		return
	}
	for _, c := range [...]struct {
		is  bool
		why string
	}{{u.Scheme != "https", "URL scheme must be https"}, {u.User != nil, "URL must not contain a username or password"},
		{u.RawQuery != "", "URL must not contain a query"}, {u.Fragment != "", "URL must not contain a fragment"}} {
		if c.is {
			wrong(c.why)
		}
	}
}

// audiences checks for whom the tokens of an issuer are.
func (k *checker) audiences(i *issuerEntry, at, policy *field.Path) {
	const matchAny = "MatchAny"
	if len(i.Audiences) == 0 {
		k.add(field.Required(at, fmt.Sprintf("at least one %s is required", at)))
		return
	}
	var seen []string
	for n, audience := range i.Audiences {
		if audience == "" {
			k.add(field.Required(at.Index(n), ""))
		}
		seen = k.once(at.Index(n), audience, seen)
	}
	switch p := i.AudienceMatchPolicy; {
	case len(seen) > 1 && p != matchAny:
		k.add(field.Invalid(policy, p, "audienceMatchPolicy must be MatchAny for multiple audiences"))
	case p != "" && p != matchAny:
		k.add(field.Invalid(policy, p, "audienceMatchPolicy must be empty or MatchAny for single audience"))
	}
}

// claimRules checks the rules about claims.
func (k *checker) claimRules(m *mapper, root *field.Path) {
	var names, texts []string
	for i, r := range m.entry.ClaimValidationRules {
		at := root.Index(i)
		switch {
		case r.Claim != "" && r.Expression != "":
			k.add(field.Invalid(at, r.Claim, "claim and expression can't both be set"))
		case r.Claim == "" && r.Expression == "":
			k.add(field.Required(at, "claim or expression is required"))
		case r.Claim != "":
			if r.Message != "" {
				k.add(field.Invalid(at.Child("message"), r.Message, "may not be specified when claim is set"))
			}
			names = k.once(at.Child("claim"), r.Claim, names)
		default:
			if r.RequiredValue != "" {
				k.add(field.Invalid(at.Child("requiredValue"), r.RequiredValue, "may not be specified when expression is set"))
			}
			if texts = k.once(at.Child("expression"), r.Expression, texts); slices.Contains(texts[:len(texts)-1], r.Expression) {
				continue
			}
			if c := k.expression(k.compile.claims, at.Child("expression"), r.Expression, expression.Condition); c != nil {
				c.message = r.Message
				m.claimRules = append(m.claimRules, c)
			}
		}
	}
}

// mappings checks how users are made of claims.
func (k *checker) mappings(m *mapper, at *field.Path) {
	of := &m.entry.ClaimMappings
	m.username = k.mapping(&of.Username, at.Child("username"), true)
	m.groups = k.mapping(&of.Groups, at.Child("groups"), false)
	if of.UID.Claim != "" && of.UID.Expression != "" {
		k.add(field.Invalid(at.Child("uid"), "", "claim and expression can't both be set"))
	} else if of.UID.Expression != "" {
		m.uid = k.expression(k.compile.claims, at.Child("uid", "expression"), of.UID.Expression, expression.Anything)
	}
	var keys []string
	for i, e := range of.Extra {
		keys = k.extra(m, &e, at.Child("extra").Index(i), keys)
	}
	verified := func(c *compiled) bool { return c != nil && c.Selects("claims", "email_verified") }
	if m.username != nil && m.username.Selects("claims", emailClaim) && !verified(m.username) && !slices.ContainsFunc(m.extra, verified) &&
		!slices.ContainsFunc(m.claimRules, verified) {
		k.add(field.Invalid(at.Child("username", "expression"), of.Username.Expression, "claims.email_verified must be used in claimMappings.username.expression "+
			"or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression"))
	}
}

// mapping checks a claim or an expression.
func (k *checker) mapping(of *mapping, at *field.Path, required bool) *compiled {
	switch {
	case of.Expression != "" && of.Claim != "":
		k.add(field.Invalid(at, "", "claim and expression can't both be set"))
	case of.Expression != "":
		if of.Prefix != nil {
			k.add(field.Invalid(at.Child("prefix"), *of.Prefix, "may not be specified when expression is set"))
		}
		if c := k.expression(k.compile.claims, at.Child("expression"), of.Expression, expression.Anything); of.Prefix == nil {
			return c
		}
	case of.Claim == "" && required:
		k.add(field.Required(at, "claim or expression is required"))
	case of.Claim != "" && of.Prefix == nil:
		k.add(field.Required(at.Child("prefix"), "prefix is required when claim is set. It can be set to an empty string to disable prefixing"))
	}
	return nil
}

// extra checks an extra value, whose key none of the earlier ones has.
func (k *checker) extra(m *mapper, e *extraMapping, at *field.Path, earlier []string) []string {
	key := at.Child("key")
	k.add(validation.IsDomainPrefixedPath(key, e.Key)...)
	if e.Key != strings.ToLower(e.Key) {
		k.add(field.Invalid(key, e.Key, "must be lowercase"))
	}
	domain, _, ok := strings.Cut(e.Key, "/")
	if of := "." + domain; ok && (strings.HasSuffix(of, "."+profile.LabelDomain) || strings.HasSuffix(of, "."+profile.GroupSuffix)) {
		k.add(field.Invalid(key, e.Key, profile.GroupSuffix+", "+profile.LabelDomain+" and their subdomains are reserved for Kubernetes use"))
	}
	all := k.once(key, e.Key, earlier)
	if slices.Contains(earlier, e.Key) {
		return all
	}
	if e.ValueExpression == "" {
		k.add(field.Required(at.Child("valueExpression"), ""))
		return all
	}
	if c := k.expression(k.compile.claims, at.Child("valueExpression"), e.ValueExpression, expression.Anything); c != nil {
		c.key = e.Key
		m.extra = append(m.extra, c)
	}
	return all
}

// expression compiles an expression; nil for one that is wrong.
func (k *checker) expression(in *expression.Scope, at *field.Path, text string, want expression.Result) *compiled {
	program, err := in.Compile(text, want)
	var problem *expression.Problem
	switch {
	case err == nil:
		return &compiled{Program: program, source: text}
	case !errors.As(err, &problem):
		k.add(field.InternalError(at, err))
	case problem.Kind == expression.SyntaxProblem:
		k.add(field.Invalid(at, text, "compilation failed: "+problem.Detail))
	case problem.Kind == expression.ResultProblem:
		k.add(field.Invalid(at, text, "must evaluate to bool"))
	default:
		k.add(field.InternalError(at, errors.New("program instantiation failed: "+problem.Detail)))
	}
	return nil
}
