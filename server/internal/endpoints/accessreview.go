package endpoints

import (
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/authz"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/server/internal/request"
)

// reviewAccess is POST on the three access reviews: for the sender of the review (self),
// for any user, or for any user in the namespace of the review.
func (x *Endpoints) reviewAccess(r *request.Request) error {
	res := r.Target.Row
	self := res.Endpoint == api.EndpointReviewOwnAccess
	var selectors []string
	if x.cfg.Features.On("AuthorizeWithSelectors") {
		selectors = []string{"fieldSelector", "labelSelector"}
	}
	check := func(obj document.Value) error {
		if causes := checkAccessReview(obj, self, res.Namespaced, selectors); len(causes) > 0 {
			return api.Invalid(res.GV.Group, "", "", causes)
		}
		return nil
	}
	return x.review(r, check, func(obj document.Value) {
		spec := obj.Get("spec")
		attributes := reviewedAttributes(spec)
		var ignored []string
		if selectors != nil {
			ignored = reviewSelectors(spec.Get("resourceAttributes"), &attributes)
		}
		if attributes.User = r.User; !self {
			attributes.User = reviewedUser(spec)
		}
		decision, reason, err := x.authz.Authorize(r.Context, &attributes)
		status := obj.SetObject("status")
		status.SetBool("allowed", decision == authz.Allow)
		if decision == authz.Deny {
			status.SetBool("denied", true)
		}
		if reason != "" {
			status.SetString("reason", reason)
		}
		if err != nil {
			ignored = append([]string{err.Error()}, ignored...)
		}
		if len(ignored) > 0 {
			status.SetString("evaluationError", strings.Join(ignored, "; "))
		}
	})
}

// checkAccessReview checks a review with the named selectors.
func checkAccessReview(obj document.Value, self, local bool, selectors []string) (causes []schema.Cause) {
	invalid := func(field, why string) {
		causes = append(causes, schema.Cause{Reason: schema.CauseInvalid, Field: field, Message: "Invalid value: " + why})
	}
	spec := obj.Get("spec")
	resource, path := spec.Get("resourceAttributes"), spec.Get("nonResourceAttributes")
	switch {
	case resource.Exists() && path.Exists():
		invalid("spec.nonResourceAttributes", "cannot be specified in combination with resourceAttributes")
	case !resource.Exists() && !path.Exists():
		invalid("spec.resourceAttributes", "exactly one of nonResourceAttributes or resourceAttributes must be specified")
	}
	if !self && spec.Get("user").Text() == "" && spec.Get("groups").Len() == 0 {
		invalid("spec.user", "at least one of user or group must be specified")
	}
	for _, name := range selectors {
		wrong := slices.DeleteFunc(document.Validate(resource.Get(name), nil), func(c schema.Cause) bool { return strings.HasSuffix(c.Field, ".operator") })
		causes = append(causes, wrong...) // operators may be newer than the server
	}
	namespace, more := "", false
	for name, v := range obj.Get("metadata").Members() {
		if local && name == "namespace" {
			namespace = v.Text()
		} else if name != "managedFields" && !v.IsNull() {
			more = true
		}
	}
	switch {
	case more && local:
		invalid("metadata", "must be empty except for namespace")
	case more:
		invalid("metadata", "must be empty")
	}
	if local && resource.Exists() && !resource.Get("namespace").Equals(namespace) {
		invalid("spec.resourceAttributes.namespace", "must match metadata.namespace")
	}
	if local && path.Exists() {
		invalid("spec.nonResourceAttributes", "disallowed on this kind of request")
	}
	return causes
}

// reviewedAttributes are those of the reviewed request.
func reviewedAttributes(spec document.Value) authz.Attributes {
	if path := spec.Get("nonResourceAttributes"); path.Exists() {
		return authz.Attributes{Verb: path.Get("verb").Text(), Path: path.Get("path").Text()}
	}
	of := func(name string) string { return spec.At("resourceAttributes", name).Text() }
	return authz.Attributes{ResourceRequest: true, Verb: of("verb"), Group: of("group"), Version: of("version"),
		Resource: of("resource"), Subresource: of("subresource"), Namespace: of("namespace"), Name: of("name")}
}

// reviewSelectors adds the selectors of a reviewed request, and names those that cannot be read.
func reviewSelectors(resource document.Value, a *authz.Attributes) (ignored []string) {
	for _, of := range [...]struct {
		name  string
		to    *[]authz.Requirement
		parse func(string) ([]authz.Requirement, error)
		check func([]authz.Requirement) ([]authz.Requirement, error)
	}{{"fieldSelector", &a.Fields, authz.ParseFields, authz.CheckFields}, {"labelSelector", &a.Labels, authz.ParseLabels, authz.CheckLabels}} {
		selector, err := resource.Get(of.name), error(nil)
		if raw := selector.Get("rawSelector").Text(); raw != "" {
			*of.to, err = of.parse(raw)
		}
		var asked []authz.Requirement
		for _, r := range selector.Get("requirements").Elements() {
			asked = append(asked, authz.Requirement{Key: r.Get("key").Text(), Operator: r.Get("operator").Text(), Values: r.Get("values").Texts()})
		}
		if asked != nil {
			*of.to, err = of.check(asked)
		}
		if err != nil {
			part := ""
			if len(*of.to) > 0 {
				part = "partially "
			}
			ignored = append(ignored, "spec.resourceAttributes."+of.name+" "+part+"ignored due to parse error")
		}
	}
	return ignored
}

// reviewedUser is the reviewed user.
func reviewedUser(spec document.Value) *authn.User {
	user := &authn.User{Name: spec.Get("user").Text(), UID: spec.Get("uid").Text(), Groups: spec.Get("groups").Texts()}
	for key, values := range spec.Get("extra").Members() {
		if user.Extra == nil {
			user.Extra = map[string][]string{}
		}
		user.Extra[key] = values.Texts()
	}
	return user
}

// reviewRules is POST on selfsubjectrulesreviews: the sender's rights in a namespace. The
// answer is a new object, without the sent one.
func (x *Endpoints) reviewRules(r *request.Request) error {
	doc, err := x.readReview(r, func(obj document.Value) error {
		if obj.At("spec", "namespace").Text() == "" {
			return api.BadRequest("no namespace on request: set spec.namespace")
		}
		return nil
	})
	if err != nil {
		return err
	}
	defer doc.Release()
	namespace := doc.Root().At("spec", "namespace").Text()
	rules, failed := authz.RulesFor(r.Context, x.authz, r.User, namespace)

	return x.answerReview(r, func(answer document.Value) {
		status := answer.SetObject("status")
		writeRules(status, rules)
		if failed != nil {
			status.SetString("evaluationError", failed.Error())
		}
	})
}

func writeRules(status document.Value, rules authz.Rules) {
	resources := status.SetArray("resourceRules")
	for _, r := range rules.Resources {
		rule := resources.AppendObject()
		setTexts(rule, "verbs", r.Verbs)
		setTexts(rule, "apiGroups", r.Groups)
		setTexts(rule, "resources", r.Resources)
		setTexts(rule, "resourceNames", r.Names)
	}
	paths := status.SetArray("nonResourceRules")
	for _, p := range rules.Paths {
		rule := paths.AppendObject()
		setTexts(rule, "verbs", p.Verbs)
		setTexts(rule, "nonResourceURLs", p.Paths)
	}
	status.SetBool("incomplete", rules.Incomplete)
}
