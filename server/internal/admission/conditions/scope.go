// Package conditions declares the variables of the expressions in admission policies and in
// the match conditions of webhooks, and checks the expressions when one is written.
package conditions

import (
	"sync"

	"github.com/capstan-dev/capstan/internal/expression"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// The variables. Values of object, oldObject and params have no declared types, because an
// expression is for any number of kinds; they are null where there is no object.
const (
	Object          = "object"
	OldObject       = "oldObject"
	Request         = "request"
	NamespaceObject = "namespaceObject" // null for objects without a namespace
	Params          = "params"          // of policies with parameters
	Authorizer      = "authorizer"
	RequestResource = "authorizer.requestResource" // a check of the resource of the request
)

// Limits of the evaluations for one request, in units of cost.
const (
	PolicyBudget = 10_000_000 // of a policy with one parameter, besides its match conditions
	MatchBudget  = 2_500_000  // of the match conditions of a policy or a webhook
)

// Kind says which variables a scope has.
type Kind struct {
	Params     bool
	Authorizer bool
	Composed   bool // named expressions, which the owner of the scope adds
	Changes    bool // types for configurations and patches
	// ObjectType and ParamsType are for the check of types; nil for none. Types declares
	// them.
	ObjectType, ParamsType *expression.Type
	Types                  *expression.Types
}

// shared are scopes without anything of one policy, by whether they have params and an
// authorizer.
var shared = [2][2]func() (*expression.Scope, error){
	{once(Kind{}), once(Kind{Authorizer: true})},
	{once(Kind{Params: true}), once(Kind{Params: true, Authorizer: true})},
}

func once(k Kind) func() (*expression.Scope, error) {
	return sync.OnceValues(func() (*expression.Scope, error) { return newScope(k) })
}

// Scope returns a scope. It is shared with others unless it has something of its own.
func Scope(k Kind) (*expression.Scope, error) {
	if k.Composed || k.Changes || k.Types != nil {
		return newScope(k)
	}
	params, authorizer := 0, 0
	if k.Params {
		params = 1
	}
	if k.Authorizer {
		authorizer = 1
	}
	return shared[params][authorizer]()
}

func newScope(k Kind) (*expression.Scope, error) {
	types := k.Types
	if types == nil {
		types = new(expression.Types)
	}
	types.Changes = k.Changes
	request, namespace := requestType(types), namespaceType(types)
	all := []expression.Variable{{Name: Object, Type: k.ObjectType}, {Name: OldObject, Type: k.ObjectType}, {Name: Request, Type: request},
		{Name: NamespaceObject, Type: namespace}}
	if k.Params {
		all = append(all, expression.Variable{Name: Params, Type: k.ParamsType})
	}
	if k.Authorizer {
		all = append(all, expression.Variable{Name: Authorizer, Type: expression.AuthorizerType},
			expression.Variable{Name: RequestResource, Type: expression.ResourceCheckType})
	}
	if k.Composed {
		all = append(all, expression.Composed())
	}
	return expression.NewScope(types, all...)
}

// unbounded is the size of values without a bound.
const unbounded = 1 << 40

func simple(kind expression.Kind) *expression.Type {
	return &expression.Type{Kind: kind, MaxElements: unbounded}
}

func listOf(elem *expression.Type) *expression.Type {
	return &expression.Type{Kind: expression.List, Elem: elem, MaxElements: unbounded}
}

func mapOf(elem *expression.Type) *expression.Type {
	return &expression.Type{Kind: expression.Map, Elem: elem, MaxElements: unbounded}
}

// declare declares an object with members.
func declare(types *expression.Types, name string, fields ...expression.Field) *expression.Type {
	for i := range fields {
		fields[i].Plain = true
	}
	t := &expression.Type{Kind: expression.Object, Nullable: true, Fields: fields, MaxElements: unbounded}
	types.Declare(profile.MediaTypeWord+"."+name, t)
	return t
}

// texts are members with strings.
func texts(names ...string) (fields []expression.Field) {
	for _, name := range names {
		fields = append(fields, expression.Field{Name: name, Type: simple(expression.String)})
	}
	return fields
}

// requestType is the type of the request, as webhooks are sent it but for the objects.
func requestType(types *expression.Types) *expression.Type {
	kind := declare(types, "GroupVersionKind", texts("group", "version", "kind")...)
	resource := declare(types, "GroupVersionResource", texts("group", "version", "resource")...)
	user := declare(types, "UserInfo", append(texts("username", "uid"),
		expression.Field{Name: "groups", Type: listOf(simple(expression.String))},
		expression.Field{Name: "extra", Type: mapOf(listOf(simple(expression.String)))})...)
	return declare(types, "AdmissionRequest", append(texts("subResource", "requestSubResource", "name", "namespace", "operation"),
		expression.Field{Name: "kind", Type: kind}, expression.Field{Name: "requestKind", Type: kind},
		expression.Field{Name: "resource", Type: resource}, expression.Field{Name: "requestResource", Type: resource},
		expression.Field{Name: "userInfo", Type: user},
		expression.Field{Name: "dryRun", Type: simple(expression.Boolean)}, expression.Field{Name: "options", Type: simple(expression.Dynamic)})...)
}

// namespaceType is the type of the namespace: not all of its metadata.
func namespaceType(types *expression.Types) *expression.Type {
	number, moment := simple(expression.Integer), simple(expression.DateTime)
	metadata := declare(types, "NamespaceMetadata", append(texts("name", "generateName", "namespace", "UID", "resourceVersion"),
		expression.Field{Name: "labels", Type: mapOf(simple(expression.String))}, expression.Field{Name: "annotations", Type: mapOf(simple(expression.String))},
		expression.Field{Name: "creationTimestamp", Type: moment}, expression.Field{Name: "deletionTimestamp", Type: moment},
		expression.Field{Name: "deletionGracePeriodSeconds", Type: number}, expression.Field{Name: "generation", Type: number},
		expression.Field{Name: "finalizers", Type: listOf(simple(expression.String))})...)
	condition := declare(types, "NamespaceCondition", append(texts("status", "type", "message", "reason"),
		expression.Field{Name: "lastTransitionTime", Type: moment})...)
	spec := declare(types, "NamespaceSpec", expression.Field{Name: "finalizers", Type: listOf(simple(expression.String))})
	status := declare(types, "NamespaceStatus", append(texts("phase"), expression.Field{Name: "conditions", Type: listOf(condition)})...)
	return declare(types, "Namespace", expression.Field{Name: "metadata", Type: metadata}, expression.Field{Name: "spec", Type: spec},
		expression.Field{Name: "status", Type: status})
}
