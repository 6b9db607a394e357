package definitions

import (
	"net/url"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/expression"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/schema"
)

// NoteStoredVersion adds the present storage version to the versions in which objects may
// be stored.
func NoteStoredVersion(obj document.Value) {
	for _, version := range obj.At("spec", "versions").Elements() {
		if version.Get("storage").Bool() { // a second one is refused
			stored := obj.SetObject("status").SetArray("storedVersions")
			known := document.TextsIn(stored)
			if name := version.Get("name").Text(); known.Add(name) {
				stored.AppendString(name)
			}
			return
		}
	}
}

// The fields of causes about a webhook, which differ from where it was sent.
const (
	ClientPath  = "spec.conversion.webhookClientConfig"
	ReviewsPath = "spec.conversion.conversionReviewVersions"
)

// WebhookRules returns the causes of a conversion's webhook; before is the one that it
// replaces, if any.
type WebhookRules func(webhook, before document.Value) []schema.Cause

// Validate checks names, versions and their schemas, and that the immutable names stay.
// Paths are those of 1.25, whose form inside the server differs from the one that is
// sent. webhook checks the webhook of a conversion.
func Validate(obj, old document.Value, webhook WebhookRules, functions *expression.Functions) []schema.Cause {
	spec, before := obj.Get("spec"), old.Get("spec")
	c := causes{allowed: functions.Since(before)}
	if !old.Exists() {
		c.definitionName(obj)
	}
	if !old.Exists() || !same(spec, before) { // an accepted part needs no second check
		c.definitionGroup(spec)
		c.definitionScope(spec)
		versions := spec.Get("versions")
		parts := c.versionParts(versions, before.Get("versions"))
		c.definitionVersions(versions, parts)
		c.definitionNames(spec.Get("names"))
		c.sharedParts(versions, parts)
		c.conversion(spec, before, webhook)
	}
	if old.Exists() {
		c.definitionUpdate(spec, before, established(old))
	}
	c.storedVersions(obj)
	c.approval(obj, old)
	if keep := spec.Get("preserveUnknownFields"); keep.Bool() && !before.Get("preserveUnknownFields").Bool() {
		c.Invalid(keep, "cannot set to true, set "+extPreserveUnknownFields+" to true in spec.versions[*].schema instead")
	}
	return c.Causes
}

func established(obj document.Value) bool {
	return obj.At("status", "conditions").ElementBy("type", "Established").Get("status").Equals("True")
}

func (c *causes) definitionName(obj document.Value) {
	c.onlyName(obj, obj.At("spec", "names", "plural").Text()+"."+obj.At("spec", "group").Text(), "must be spec.names.plural+\".\"+spec.group")
}

// onlyName checks the name of an object that can have one name only, and its
// generateName, which therefore is always wrong.
func (c *causes) onlyName(obj document.Value, want, why string) {
	for _, field := range [...]string{"generateName", "name"} {
		if name := obj.At("metadata", field); !isEmpty(name) && !name.Equals(want) {
			c.InvalidText("metadata."+field, name.Text(), why)
		}
	}
}

// definitionUpdate checks immutable fields: scope and kind once objects can exist, the
// parts of the name always.
func (c *causes) definitionUpdate(spec, before document.Value, established bool) {
	var fixed [][]string
	if established {
		fixed = [][]string{{"scope"}, {"names", "kind"}}
	}
	fixed = append(fixed, []string{"group"}, []string{"names", "plural"})
	for _, path := range fixed {
		if v := spec.At(path...); !same(v, before.At(path...)) {
			c.InvalidAt("spec."+strings.Join(path, "."), v, "field is immutable")
		}
	}
}

func (c *causes) definitionGroup(spec document.Value) {
	group := spec.Get("group")
	switch problems := document.CheckFormat("dns1123-subdomain", group.Text()); {
	case isEmpty(group):
		c.Required("spec.group", "")
	case len(problems) > 0:
		c.Invalid(group, strings.Join(problems, ", "))
	case !strings.Contains(group.Text(), "."):
		c.Invalid(group, "should be a domain with at least one dot")
	}
}

func (c *causes) definitionScope(spec document.Value) {
	if scope := spec.Get("scope"); isEmpty(scope) {
		c.Required("spec.scope", "")
	} else if !scope.Equals("Cluster") && !scope.Equals("Namespaced") {
		c.NotSupported(scope, "Cluster", "Namespaced")
	}
}

func (c *causes) definitionNames(spoken document.Value) {
	fields := [...]string{"plural", "singular", "kind", "listKind"}
	for _, name := range fields {
		if isEmpty(spoken.Get(name)) {
			c.Required("spec.names."+name, "")
		}
	}
	for _, name := range fields {
		text, but := spoken.Get(name).Text(), ""
		if name == "kind" || name == "listKind" {
			text, but = strings.ToLower(text), "may have mixed case, but should otherwise match: "
		}
		if text != "" {
			c.wordText("spec.names."+name, spoken.Get(name).Text(), text, but)
		}
	}
	words := func(list string) {
		for i, v := range spoken.Get(list).Elements() {
			c.wordText("spec.names."+list+index(i), v.Text(), v.Text(), "")
		}
	}
	words("shortNames")
	if kind := spoken.Get("kind"); !isEmpty(kind) && same(kind, spoken.Get("listKind")) {
		c.Invalid(spoken.Get("listKind"), "kind and listKind may not be the same")
	}
	words("categories")
}

// wordText checks one word of a path, given as it was sent and as it is used.
func (c *causes) wordText(path, sent, used, but string) {
	if problems := document.CheckFormat("dns1035-label", used); len(problems) > 0 {
		c.InvalidText(path, sent, but+strings.Join(problems, ", "))
	}
}

func (c *causes) storedVersions(obj document.Value) {
	stored, versions := obj.At("status", "storedVersions"), obj.At("spec", "versions")
	if stored.Len() == 0 {
		c.InvalidText("status.storedVersions", "", "must have at least one stored version")
		return
	}
	var declared document.Texts
	known := document.TextsIn(stored)
	for _, version := range versions.Elements() {
		name := version.Get("name").Text()
		again := !declared.Add(name) // the first version of a name counts
		if version.Get("storage").Bool() && (again || !known.Has(name)) {
			c.Invalid(stored, "must have the storage version "+name)
		}
	}
	for _, v := range stored.Elements() {
		if !declared.Has(v.Text()) {
			c.Invalid(v, "must appear in spec.versions")
		}
	}
}

// approvalAnnotation names the approval of a type in a group of the project.
const approvalAnnotation = "api-approved." + profile.LabelDomain

// Approval is the decision about a definition in one of the project's own groups.
type Approval struct {
	Status, Reason, Message string // of the condition KubernetesAPIApprovalPolicyConformant; "" for other groups
}

// ApprovalOf decides by the group and the annotation of a definition.
func ApprovalOf(obj document.Value) Approval {
	group := obj.At("spec", "group").Text()
	protected := slices.ContainsFunc([]string{profile.GroupSuffix, profile.LabelDomain}, func(domain string) bool {
		return group == domain || strings.HasSuffix(group, "."+domain)
	})
	if !protected {
		return Approval{}
	}
	text := obj.At("metadata", "annotations", approvalAnnotation).Text()
	address, err := url.Parse(text)
	switch {
	case text == "":
		return Approval{"False", "MissingAnnotation", "protected groups must have approval annotation \"" + approvalAnnotation + "\""}
	case strings.HasPrefix(text, "unapproved"):
		return Approval{"False", "UnapprovedAnnotation", "not approved: \"" + text + "\""}
	case err == nil && address.Scheme != "" && address.Host != "":
		return Approval{"True", "ApprovedAnnotation", "approved in " + text}
	}
	return Approval{"False", "InvalidAnnotation", "protected groups must have approval annotation \"" + approvalAnnotation +
		"\" with either a URL or a reason starting with \"unapproved\""}
}

// approval requires that types of the project name their approval, or that they have
// none. Earlier definitions without it may stay so.
func (c *causes) approval(obj, old document.Value) {
	now := ApprovalOf(obj)
	if now.Status == "" || old.Exists() && ApprovalOf(old).Reason == now.Reason {
		return
	}
	path := "metadata.annotations[" + approvalAnnotation + "]"
	switch now.Reason {
	case "MissingAnnotation":
		c.Required(path, now.Message)
	case "InvalidAnnotation":
		c.InvalidText(path, obj.At("metadata", "annotations", approvalAnnotation).Text(), now.Message)
	}
}
