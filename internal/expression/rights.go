package expression

import (
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	names "k8s.io/apimachinery/pkg/util/validation"

	"github.com/capstan-dev/capstan/openapi"
)

// Check is a question about rights, as an expression puts it together. It is comparable.
type Check struct {
	Namespace, Account string // of the service account that it is about; "" for the requester
	Path               string // of a request that is not for a resource; "" for the others
	Group, Resource    string
	Subresource        string
	In, Name           string // namespace and name of the object
	Fields, Labels     string // selectors, as they were written
	Verb               string
}

// Decision is the answer to a check.
type Decision struct {
	Allowed bool
	Reason  string
	Err     error
}

// Authorizer answers the checks of one evaluation.
type Authorizer func(Check) Decision

// checkCost allows two checks in an evaluation.
const checkCost = 350_000

// query is a check that is not complete yet.
type query struct {
	ask Authorizer
	Check
}

// The stages of a query have types of their own, so that their functions differ.
type (
	authority     struct{ query }
	pathQuery     struct{ query }
	groupQuery    struct{ query }
	resourceQuery struct{ query }
)

var rightsPrefix = openapi.Word() + ".authorization."

var (
	authorities     = &class[authority]{is: cel.ObjectType(rightsPrefix + "Authorizer"), equal: func(a, b authority) bool { return a.Check == b.Check }}
	pathQueries     = &class[pathQuery]{is: cel.ObjectType(rightsPrefix + "PathCheck"), equal: func(a, b pathQuery) bool { return a.Check == b.Check }}
	groupQueries    = &class[groupQuery]{is: cel.ObjectType(rightsPrefix + "GroupCheck"), equal: func(a, b groupQuery) bool { return a.Check == b.Check }}
	resourceQueries = &class[resourceQuery]{is: cel.ObjectType(rightsPrefix + "ResourceCheck"), equal: func(a, b resourceQuery) bool { return a.Check == b.Check }}
	decisions       = &class[Decision]{is: cel.ObjectType(rightsPrefix + "Decision"),
		equal: func(a, b Decision) bool { return a.Allowed == b.Allowed && a.Reason == b.Reason }}
)

// AuthorizerType and ResourceCheckType are the types of variables with the values of
// AuthorizerOf and ResourceCheckOf.
var (
	AuthorizerType    = &Type{Kind: Opaque, native: authorities.is}
	ResourceCheckType = &Type{Kind: Opaque, native: resourceQueries.is}
)

// AuthorizerOf is the value from which expressions begin their checks.
func AuthorizerOf(ask Authorizer) Value { return authorities.of(authority{query{ask: ask}}) }

// ResourceCheckOf is the value of a check that lacks its verb.
func ResourceCheckOf(ask Authorizer, c Check) Value {
	return resourceQueries.of(resourceQuery{query{ask, c}})
}

// rightsFunctions put checks together and look at decisions.
func rightsFunctions() map[string][]cel.FunctionOpt {
	s, b := types.StringType, types.BoolType
	functions := map[string][]cel.FunctionOpt{
		"path": {member("authorizer_path", pathQueries.is, withText(authorities, func(a authority, path string) ref.Val {
			if strings.TrimSpace(path) == "" {
				return types.NewErr("path must not be empty")
			}
			a.Path = path
			return pathQueries.of(pathQuery(a))
		}), authorities.is, s)},
		"group": {member("authorizer_group", groupQueries.is, withText(authorities, func(a authority, group string) ref.Val {
			a.Group = group
			return groupQueries.of(groupQuery(a))
		}), authorities.is, s)},
		"serviceAccount": {member("authorizer_serviceaccount", authorities.is, cel.FunctionBinding(ofAccount), authorities.is, s, s)},
		"resource": {member("groupcheck_resource", resourceQueries.is, withText(groupQueries, func(g groupQuery, resource string) ref.Val {
			if strings.TrimSpace(resource) == "" {
				return types.NewErr("resource must not be empty")
			}
			g.Resource = resource
			return resourceQueries.of(resourceQuery(g))
		}), groupQueries.is, s)},
		"check": {
			member("pathcheck_check", decisions.is, withText(pathQueries, func(p pathQuery, verb string) ref.Val { return p.decide(verb) }), pathQueries.is, s),
			member("resourcecheck_check", decisions.is, withText(resourceQueries,
				func(r resourceQuery, verb string) ref.Val { return r.decide(verb) }), resourceQueries.is, s)},
		"errored": {member("decision_errored", b, unary(decisions, func(d Decision) ref.Val { return types.Bool(d.Err != nil) }), decisions.is)},
		"error": {member("decision_error", s, unary(decisions, func(d Decision) ref.Val {
			if d.Err == nil {
				return types.String("")
			}
			return types.String(d.Err.Error())
		}), decisions.is)},
		"allowed": {member("decision_allowed", b, unary(decisions, func(d Decision) ref.Val { return types.Bool(d.Allowed) }), decisions.is)},
		"reason":  {member("decision_reason", s, unary(decisions, func(d Decision) ref.Val { return types.String(d.Reason) }), decisions.is)},
	}
	for _, part := range []struct {
		name, id string
		of       func(*resourceQuery) *string
	}{
		{"subresource", "resourcecheck_subresource", func(r *resourceQuery) *string { return &r.Subresource }},
		{"namespace", "resourcecheck_namespace", func(r *resourceQuery) *string { return &r.In }},
		{"name", "resourcecheck_name", func(r *resourceQuery) *string { return &r.Name }},
		{"fieldSelector", "authorizer_fieldselector", func(r *resourceQuery) *string { return &r.Fields }},
		{"labelSelector", "authorizer_labelselector", func(r *resourceQuery) *string { return &r.Labels }},
	} {
		functions[part.name] = []cel.FunctionOpt{member(part.id, resourceQueries.is, withText(resourceQueries, func(r resourceQuery, text string) ref.Val {
			*part.of(&r) = text
			return resourceQueries.of(r)
		}), resourceQueries.is, s)}
	}
	return functions
}

// withText makes the function of a value of a class and a string.
func withText[T any](c *class[T], f func(T, string) ref.Val) cel.OverloadOpt {
	return cel.BinaryBinding(func(first, second ref.Val) ref.Val {
		v, ok := c.in(first)
		text, isText := second.(types.String)
		if !ok || !isText {
			return types.MaybeNoSuchOverloadErr(first)
		}
		return f(v, string(text))
	})
}

func (q query) decide(verb string) ref.Val {
	q.Verb = verb
	return decisions.of(q.ask(q.Check))
}

// ofAccount makes an authorizer for the checks of a service account.
func ofAccount(args ...ref.Val) ref.Val {
	a, ok := authorities.in(args[0])
	namespace, isText := args[1].(types.String)
	name, isName := args[2].(types.String)
	switch {
	case !ok || !isText || !isName:
		return types.MaybeNoSuchOverloadErr(args[0])
	case len(names.IsDNS1123Subdomain(string(name))) > 0:
		return types.NewErr("Invalid service account name")
	case len(names.IsDNS1123Label(string(namespace))) > 0:
		return types.NewErr("Invalid service account namespace")
	}
	a.Namespace, a.Account = string(namespace), string(name)
	return authorities.of(a)
}

// rightsPrices are the costs of these functions.
func rightsPrices(all map[string]price) {
	all["check"] = price{func(*costs, call) *checker.CallEstimate { return estimate(checker.FixedCostEstimate(checkCost)) },
		func(string, []ref.Val, ref.Val) uint64 { return checkCost }}
	for _, name := range [...]string{"serviceAccount", "path", "group", "resource", "subresource", "namespace", "name", "allowed", "reason", "error", "errored"} {
		all[name] = price{}
	}
	for _, name := range [...]string{"fieldSelector", "labelSelector"} {
		all[name] = price{
			func(c *costs, in call) *checker.CallEstimate {
				if len(in.args) != 1 {
					return nil
				}
				return estimate(c.size(in.args[0]).MultiplyByCostFactor(common.StringTraversalCostFactor))
			},
			func(_ string, args []ref.Val, _ ref.Val) uint64 { return scaled(actualSize(args[len(args)-1]), 1) }}
	}
}
