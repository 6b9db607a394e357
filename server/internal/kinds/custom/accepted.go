package custom

import (
	"crypto/sha256"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/server/internal/kinds/definitions"
	"github.com/capstan-dev/capstan/server/internal/objects"
)

// definition is the part of a custom resource definition that decides about its names.
type definition struct {
	group, uid        string
	wanted, names     typeNames          // names are the accepted ones
	text              definitions.Text   // the object
	revision          uint64             // of the object
	rows, schema      [sha256.Size]byte  // hashes of everything that rows are made of, and of how objects are stored
	unstructured      bool               // nothing is pruned: spec.preserveUnknownFields
	conditions        map[string]outcome // by type
	approval          definitions.Approval
	deleted, finalize bool // it is terminating; it waits for its objects to be removed
}

// typeNames are the names of a resource type.
type typeNames struct {
	plural, singular, kind, listKind string
	shortNames, categories           []string
}

func (n *typeNames) equal(o *typeNames) bool {
	return n.plural == o.plural && n.singular == o.singular && n.kind == o.kind && n.listKind == o.listKind &&
		slices.Equal(n.shortNames, o.shortNames) && slices.Equal(n.categories, o.categories)
}

func readDefinition(obj document.Value) *definition {
	d := &definition{
		group:      strings.Clone(obj.At("spec", "group").Text()),
		wanted:     readNames(obj.At("spec", "names")),
		names:      readNames(obj.At("status", "acceptedNames")),
		conditions: map[string]outcome{},
		approval:   definitions.ApprovalOf(obj),
		deleted:    obj.At("metadata", "deletionTimestamp").Exists(),
		uid:        strings.Clone(obj.At("metadata", "uid").Text()),
		text:       definitions.Pack(obj.AppendJSON(nil)),
	}
	d.revision = revisionOf(obj)
	d.unstructured = obj.At("spec", "preserveUnknownFields").Bool()
	d.mark(obj)
	for _, c := range obj.At("status", "conditions").Elements() {
		d.conditions[strings.Clone(c.Get("type").Text())] = outcome{
			strings.Clone(c.Get("status").Text()), strings.Clone(c.Get("reason").Text()), strings.Clone(c.Get("message").Text())}
	}
	for _, f := range obj.At("metadata", "finalizers").Elements() {
		d.finalize = d.finalize || d.deleted && f.Equals(objects.DefinitionFinalizer)
	}
	return d
}

func revisionOf(obj document.Value) uint64 {
	revision, _ := strconv.ParseUint(obj.At("metadata", "resourceVersion").Text(), 10, 64)
	return revision
}

// mark notes the parts that rows are made of.
func (d *definition) mark(obj document.Value) {
	spec := obj.Get("spec")
	text := spec.AppendJSON(nil)
	text = obj.At("status", "acceptedNames").AppendJSON(text)
	text = append(text, d.uid...)
	if d.deleted {
		text = append(text, " deleted"...)
	}
	d.rows = sha256.Sum256(text)
	text = text[:0]
	remote := spec.At("conversion", "strategy").Equals("Webhook") // objects may be stored in any version
	for _, version := range spec.Get("versions").Elements() {
		if remote || version.Get("storage").Bool() {
			text = version.Get("schema").AppendJSON(version.Get("name").AppendJSON(text))
		}
	}
	d.schema = sha256.Sum256(text)
}

// accepted reports whether the definition is served: it was established, or has all the
// names that it wants.
func (d *definition) accepted() bool {
	return d.names.plural != "" && (d.conditions["Established"].status == "True" || d.conditions["NamesAccepted"].status == "True")
}

func readNames(v document.Value) typeNames {
	list := func(name string) (all []string) {
		for _, s := range v.Get(name).Elements() {
			all = append(all, strings.Clone(s.Text()))
		}
		return all
	}
	text := func(name string) string { return strings.Clone(v.Get(name).Text()) }
	return typeNames{plural: text("plural"), singular: text("singular"), kind: text("kind"), listKind: text("listKind"),
		shortNames: list("shortNames"), categories: list("categories")}
}

// named reports whether the definition has all the names that it wants.
func (d *definition) named() bool {
	return d.names.equal(&d.wanted) && d.conditions["NamesAccepted"].status == "True"
}

// decided returns a definition with its accepted names and conditions, and whether they
// are new.
func (d *definition) decided(t taken) (now *definition, news bool) {
	trial := *d
	trial.conditions = maps.Clone(d.conditions)
	trial.decide(t)
	return &trial, !trial.names.equal(&d.names) || !maps.Equal(trial.conditions, d.conditions)
}

// decide accepts the wanted names of a definition that no other has, with conditions that
// report whether these are all. It keeps an old name until it can have the new one. Of
// several conflicts the last is reported.
func (d *definition) decide(t taken) {
	if d.named() {
		d.establish()
		return
	}
	result := outcome{"True", "NoConflicts", "no conflicts found"}
	give := func(want string, have *string, used map[string]bool, reason string) {
		if want != *have && used[want] {
			result = outcome{"False", reason, strconv.Quote(want) + " is already in use"}
			return
		}
		*have = want
	}
	give(d.wanted.plural, &d.names.plural, t.resources, "PluralConflict")
	give(d.wanted.singular, &d.names.singular, t.resources, "SingularConflict")
	if used := clashes(d.wanted.shortNames, d.names.shortNames, t.resources); len(used) > 0 {
		result = outcome{"False", "ShortNamesConflict", strings.Join(used, ", ")}
	} else {
		d.names.shortNames = d.wanted.shortNames
	}
	give(d.wanted.kind, &d.names.kind, t.kinds, "KindConflict")
	give(d.wanted.listKind, &d.names.listKind, t.kinds, "ListKindConflict")
	d.names.categories = d.wanted.categories
	d.conditions["NamesAccepted"] = result
	d.establish()
}

// establish sets the condition that the type is served, which stays.
func (d *definition) establish() {
	switch {
	case d.conditions["Established"].status == "True":
	case d.conditions["NamesAccepted"].status == "True":
		d.conditions["Established"] = outcome{"True", "InitialNamesAccepted", "the initial names have been accepted"}
	default:
		d.conditions["Established"] = outcome{"False", "NotAccepted", "not all names are accepted"}
	}
	if d.unstructured {
		d.conditions["NonStructuralSchema"] = outcome{"True", "Violations", "spec.preserveUnknownFields: Invalid value: true: must be false"}
	} else {
		delete(d.conditions, "NonStructuralSchema")
	}
	if d.approval.Status != "" {
		d.conditions["KubernetesAPIApprovalPolicyConformant"] = outcome{d.approval.Status, d.approval.Reason, d.approval.Message}
	}
}

// clashes reports new short names that are in use.
func clashes(want, have []string, used map[string]bool) (problems []string) {
	own := make(map[string]bool, len(have))
	for _, name := range have {
		own[name] = true
	}
	for _, name := range want {
		if used[name] && !own[name] {
			problems = append(problems, strconv.Quote(name)+" is already in use")
		}
	}
	return problems
}
