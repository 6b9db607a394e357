package authorizers

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/capstan-dev/capstan/internal/authz"
)

// types are those of authorizers, sorted.
var types = []string{authz.ModeABAC, authz.ModeAlwaysAllow, authz.ModeAlwaysDeny, authz.ModeNode, authz.ModeRBAC, authz.ModeWebhook}

// The decisions about requests that a webhook cannot be asked about, and the ways to find a webhook.
const (
	noOpinion = "NoOpinion"
	deny      = "Deny"
	byFile    = "KubeConfigFile"
	inCluster = "InClusterConfig"
)

// maxTimeout bounds the time of a call.
const maxTimeout = 30 * time.Second

// validate returns the mistakes of a configuration, in the words of kube-apiserver.
func (c *configuration) validate(compile *compiler) (all field.ErrorList) {
	root := field.NewPath("authorizers")
	if len(c.Authorizers) == 0 {
		all = append(all, field.Required(root, "at least one authorization mode must be defined"))
	}
	var seen, names []string
	for i := range c.Authorizers {
		a, at := &c.Authorizers[i], root.Index(i)
		switch {
		case a.Type == "":
			all = append(all, field.Required(at.Child("type"), ""))
			continue
		case !slices.Contains(types, a.Type):
			all = append(all, field.NotSupported(at.Child("type"), a.Type, types))
			continue
		case a.Type != authz.ModeWebhook && slices.Contains(seen, a.Type):
			all = append(all, field.Duplicate(at.Child("type"), a.Type))
			continue
		}
		seen = append(seen, a.Type)
		all = append(all, checkName(at.Child("name"), a.Name, names)...)
		names = append(names, a.Name)
		switch {
		case a.Type != authz.ModeWebhook && a.Webhook != nil:
			all = append(all, field.Invalid(at.Child("webhook"), "non-null", "may only be specified when type=Webhook"))
		case a.Type == authz.ModeWebhook && a.Webhook == nil:
			all = append(all, field.Required(at.Child("webhook"), "required when type=Webhook"))
		case a.Type == authz.ModeWebhook:
			all = append(all, a.Webhook.validate(at, compile)...)
		}
	}
	return all
}

// checkName checks the name of an authorizer, which none of the earlier ones has.
func checkName(at *field.Path, name string, earlier []string) field.ErrorList {
	wrong := validation.IsDNS1123Subdomain(name)
	switch {
	case name == "":
		return field.ErrorList{field.Required(at, "")}
	case slices.Contains(earlier, name):
		return field.ErrorList{field.Duplicate(at, name)}
	case len(wrong) > 0:
		return field.ErrorList{field.Invalid(at, name, "authorizer name is invalid: "+strings.Join(wrong, ", "))}
	}
	return nil
}

// validate checks a webhook, and compiles its match conditions. Its mistakes are at the authorizer, as those of kube-apiserver.
func (w *webhook) validate(at *field.Path, compile *compiler) (all field.ErrorList) {
	if w.Timeout == 0 {
		all = append(all, field.Required(at.Child("timeout"), ""))
	} else if t := time.Duration(w.Timeout); t > maxTimeout || t < 0 {
		all = append(all, field.Invalid(at.Child("timeout"), t.String(), "must be > 0s and <= 30s"))
	}
	for _, ttl := range [...]struct {
		name string
		of   duration
	}{{"authorizedTTL", w.AuthorizedTTL}, {"unauthorizedTTL", w.UnauthorizedTTL}} {
		if ttl.of < 0 {
			all = append(all, field.Invalid(at.Child(ttl.name), time.Duration(ttl.of).String(), "must be > 0s"))
		}
	}
	all = append(all, oneOf(at.Child("subjectAccessReviewVersion"), w.SubjectAccessReviewVersion, "v1", "v1beta1")...)
	version := at.Child("matchConditionSubjectAccessReviewVersion")
	if w.MatchConditionSubjectAccessReviewVersion != "" {
		all = append(all, oneOf(version, w.MatchConditionSubjectAccessReviewVersion, "v1")...)
	} else if len(w.MatchConditions) > 0 {
		all = append(all, field.Required(version, "required if match conditions are specified"))
	}
	all = append(all, oneOf(at.Child("failurePolicy"), w.FailurePolicy, noOpinion, deny)...)
	all = append(all, w.ConnectionInfo.validate(at.Child("connectionInfo"))...)
	var wrong field.ErrorList
	w.compiled, wrong = compile.all(at.Child("matchConditions"), w.MatchConditions)
	return append(all, wrong...)
}

// oneOf requires one of some values.
func oneOf(at *field.Path, value string, values ...string) field.ErrorList {
	switch {
	case value == "":
		return field.ErrorList{field.Required(at, "")}
	case !slices.Contains(values, value):
		return field.ErrorList{field.NotSupported(at, value, values)}
	}
	return nil
}

// validate checks how a webhook is found.
func (c *connection) validate(at *field.Path) field.ErrorList {
	file := at.Child("kubeConfigFile")
	switch {
	case c.Type == "":
		return field.ErrorList{field.Required(at.Child("type"), "")}
	case c.Type == inCluster:
		return field.ErrorList{field.Invalid(at.Child("type"), c.Type, "the server is not inside of a cluster that it could ask")}
	case c.Type != byFile:
		return field.ErrorList{field.NotSupported(at.Child("type"), struct {
			Type           string
			KubeConfigFile *string
		}(*c), []string{inCluster, byFile})}
	case c.KubeConfigFile == nil || *c.KubeConfigFile == "":
		return field.ErrorList{field.Required(file, "")}
	case !filepath.IsAbs(*c.KubeConfigFile):
		return field.ErrorList{field.Invalid(file, *c.KubeConfigFile, "must be an absolute path")}
	}
	if info, err := os.Stat(*c.KubeConfigFile); err != nil {
		return field.ErrorList{field.Invalid(file, *c.KubeConfigFile, "error loading file: "+err.Error())}
	} else if !info.Mode().IsRegular() {
		return field.ErrorList{field.Invalid(file, *c.KubeConfigFile, "must be a regular file")}
	}
	return nil
}

// checkNames requires that each authorizer but webhooks has its type in lower case as its name, and that some types are there.
func (c *configuration) checkNames(required []string) (all []error) {
	missing := slices.Clone(required)
	for _, a := range c.Authorizers {
		if want := strings.ToLower(a.Type); a.Type != authz.ModeWebhook && a.Name != want {
			all = append(all, fmt.Errorf("expected name %s for authorizer %s instead of %s", want, a.Type, a.Name))
		}
		missing = slices.DeleteFunc(missing, func(t string) bool { return t == a.Type })
	}
	if len(missing) > 0 {
		all = append(all, fmt.Errorf("missing required types: %v", missing))
	}
	return all
}
