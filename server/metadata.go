package server

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/gen/profile"
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// maxAnnotations is the limit of all annotations of an object together, in
// bytes of keys and values.
const maxAnnotations = 256 << 10

// validate finds everything that is wrong with an object: its metadata, what
// the schema says, and the kind's own rules. old is what it is to replace, absent
// on create.
func validate(t target, obj, old document.Value) []schema.Cause {
	return validateChange(t, obj, old, old)
}

// validateChange is validate for an object of which not every change counts as
// one: before is what the object was, old what the rules for changes compare with.
// What was wrong before and has not been touched is let be (stillWrong): the rules
// may be younger than the object.
func validateChange(t target, obj, old, before document.Value) []schema.Cause {
	res, checks := t.resource, t.checks()
	causes := validateMetadata(res, checks, obj.Get("metadata"), old.Get("metadata"))
	if len(causes) > 0 && before.Exists() {
		meta := before.Get("metadata")
		causes = stillWrong(causes, obj, before, func() []schema.Cause { return validateMetadata(res, checks, meta, meta) })
	}
	var state []schema.Cause
	if !old.Exists() || checks.Object > 0 {
		if state = document.Validate(obj); len(state) > 0 && before.Exists() {
			state = document.ValidateTouched(obj, before)
		}
	}
	change := state
	if old.Exists() {
		change = append(slices.Clip(state), document.ValidateUpdate(obj, old)...)
	}
	change = document.MergeCauses(obj, change, validateRules(res, obj, old, before))
	if !old.Exists() {
		return slices.Repeat(append(causes, change...), max(1, res.ChecksOnCreate))
	}
	if len(change) > 0 && checks.Object > 1 { // before that, without what is wrong with the change
		state = document.MergeCauses(obj, state, validateRules(res, obj, obj, before))
		for n := 1; n < checks.Object; n++ {
			causes = append(causes, state...)
		}
	}
	return append(causes, change...)
}

// validateRules finds what breaks the kind's own rules.
func validateRules(res *catalog.Row, obj, old, before document.Value) []schema.Cause {
	if res.Hooks == nil || res.Hooks.Validate == nil {
		return nil
	}
	causes := res.Hooks.Validate(obj, old)
	if len(causes) == 0 || !before.Exists() {
		return causes
	}
	return stillWrong(causes, obj, before, func() []schema.Cause { return res.Hooks.Validate(before, before) })
}

// stillWrong leaves of causes what is not to be let be: a rule that hand-written
// code checks may look at any field, so one that is broken is let be where it was
// broken in the same words before the update, at a value that the update has not
// touched. inBefore finds what was wrong. Of a list that was cut off all stay.
func stillWrong(causes []schema.Cause, obj, before document.Value, inBefore func() []schema.Cause) []schema.Cause {
	if len(causes) > api.MaxCauses {
		return causes
	}
	known := map[schema.Cause]bool{}
	for _, c := range inBefore() {
		known[c] = true
	}
	if len(known) == 0 {
		return causes
	}
	return slices.DeleteFunc(causes, func(c schema.Cause) bool {
		now, was, path := document.Counterpart(obj, before, c.Field)
		c.Field = path
		return known[c] && document.Equal(now, was)
	})
}

// checks is how often an update of the target checks what.
func (t *target) checks() api.Checks {
	switch {
	case t.sub != nil && t.sub.Checks != nil:
		return *t.sub.Checks
	case t.writesStatus():
		return api.UsualStatusChecks
	case t.resource.Checks != nil:
		return *t.resource.Checks
	}
	return api.UsualChecks
}

// validateMetadata checks the rules that hold for the metadata of every kind. An
// update is told everything as often as 1.25 tells it; what is wrong with the
// state of a part is wrong with its change as well.
func validateMetadata(res *catalog.Row, checks api.Checks, meta, old document.Value) []schema.Cause {
	var state, change, names, standard causes
	if n, ok := meta.Get("generation").Int(); ok && n < 0 {
		state.add(schema.CauseInvalid, "metadata.generation", fmt.Sprintf("Invalid value: %d: must be greater than or equal to 0", n))
	}
	state.descriptions(meta)
	state.finalizers(meta)
	names.names(res.NameFormat, meta)
	if !res.AnyFinalizer {
		standard.standardFinalizers(meta)
	}
	if !old.Exists() {
		if name := meta.Get("name").Text(); len(names) == 0 && badSegment(name) {
			names.add(schema.CauseInvalid, "metadata.name", "Invalid value: "+strconv.Quote(name)+": may not hold control characters: no path could name the object")
		}
		return slices.Concat(names, state, standard)
	}
	change.addedFinalizers(meta, old)
	change.fixed(meta, old)
	change.descriptions(meta)
	var all causes
	all.names("path-segment", meta)
	all = slices.Concat(all, state, change)
	for range checks.Changes {
		all = slices.Concat(all, change, standard)
	}
	for range checks.Metadata {
		all = slices.Concat(all, names, state, standard)
	}
	return all
}

// names checks the name of an object, and what it is generated from, by a rule.
func (c *causes) names(rule string, meta document.Value) {
	prefix, name := meta.Get("generateName").Text(), meta.Get("name").Text()
	switch {
	case prefix == "":
	case rule == "path-segment":
		if strings.ContainsAny(prefix, "/%") {
			c.add(schema.CauseInvalid, "metadata.generateName", "Invalid value: "+strconv.Quote(prefix)+": may not contain '/' or '%'")
		}
	default:
		c.format("metadata.generateName", rule, prefix, maskDash(prefix))
	}
	if name == "" {
		c.add(schema.CauseRequired, "metadata.name", "Required value: name or generateName is required")
	} else {
		c.format("metadata.name", rule, name, name)
	}
}

// maskDash makes a prefix of names that may end in a dash look like a name.
func maskDash(prefix string) string {
	if n := len(prefix); n > 1 && prefix[n-1] == '-' {
		return prefix[:n-2] + "a"
	}
	return prefix
}

type causes []schema.Cause

func (c *causes) add(reason, field, message string) {
	if len(*c) <= api.MaxCauses { // one more than is told, so that this is seen
		*c = append(*c, schema.Cause{Reason: reason, Field: field, Message: message})
	}
}

// format checks text by a named rule; shown is the value as it was sent.
func (c *causes) format(field, rule, shown, text string) {
	for _, problem := range document.CheckFormat(rule, text) {
		c.add(schema.CauseInvalid, field, "Invalid value: "+strconv.Quote(shown)+": "+problem)
	}
}

// descriptions checks what users say of an object.
func (c *causes) descriptions(meta document.Value) {
	c.labels(meta.Get("labels"))
	c.annotations(meta.Get("annotations"))
	c.owners(meta.Get("ownerReferences"))
}

func (c *causes) labels(labels document.Value) {
	for key, value := range labels.Members() {
		c.format("metadata.labels", "qualified-name", key, key)
		if text := value.Text(); text != "" {
			c.format("metadata.labels", "label-value", text, text)
		}
	}
}

func (c *causes) annotations(annotations document.Value) {
	total := 0
	for key, value := range annotations.Members() {
		c.format("metadata.annotations", "qualified-name", key, strings.ToLower(key))
		total += len(key) + len(value.Text())
	}
	if total > maxAnnotations {
		c.add(schema.CauseTooLong, "metadata.annotations", fmt.Sprintf("Too long: must have at most %d bytes", maxAnnotations))
	}
}

// owners checks the references to owners, which are all reported at the list.
func (c *causes) owners(owners document.Value) {
	const list = "metadata.ownerReferences"
	controller := ""
	for _, owner := range owners.Elements() {
		version := owner.Get("apiVersion").Text()
		if version == "" || strings.HasSuffix(version, "/") || strings.Count(version, "/") > 1 {
			c.add(schema.CauseInvalid, list+".apiVersion", "Invalid value: "+strconv.Quote(version)+": version must not be empty")
		}
		for _, name := range []string{"kind", "name", "uid"} {
			if owner.Get(name).Text() == "" {
				c.add(schema.CauseInvalid, list+"."+name, "Invalid value: \"\": "+name+" must not be empty")
			}
		}
		if version == "v1" && owner.Get("kind").Equals("Event") {
			c.add(schema.CauseInvalid, list, "Invalid value: an Event is disallowed from being an owner")
		}
		if !owner.Get("controller").Bool() {
			continue
		}
		if name := owner.Get("name").Text(); controller == "" {
			controller = name
		} else {
			c.add(schema.CauseInvalid, list,
				fmt.Sprintf("Invalid value: Only one reference can have Controller set to true. Found \"true\" in references for %s and %s", controller, name))
		}
	}
}

func (c *causes) finalizers(meta document.Value) {
	orphan, foreground := false, false
	for _, f := range meta.Get("finalizers").Elements() {
		text := f.Text()
		orphan = orphan || text == finalizerOrphan
		foreground = foreground || text == finalizerForeground
		c.format("metadata.finalizers", "qualified-name", text, text)
	}
	if orphan && foreground {
		c.add(schema.CauseInvalid, "metadata.finalizers", "Invalid value: finalizer orphan and foregroundDeletion cannot be both set")
	}
}

// standardFinalizers checks that finalizers without a domain are known.
func (c *causes) standardFinalizers(meta document.Value) {
	for i, f := range meta.Get("finalizers").Elements() {
		if text := f.Text(); !strings.Contains(text, "/") && !builtInFinalizers[text] {
			c.add(schema.CauseInvalid, fmt.Sprintf("metadata.finalizers[%d]", i), "Invalid value: "+strconv.Quote(text)+": name is neither a standard finalizer name nor is it fully qualified")
		}
	}
}

// addedFinalizers checks that a terminating object gets none.
func (c *causes) addedFinalizers(meta, old document.Value) {
	if !old.Get("deletionTimestamp").Exists() {
		return
	}
	for _, f := range meta.Get("finalizers").Elements() {
		if text := f.Text(); !old.Get("finalizers").HasText(text) {
			c.add(schema.CauseForbidden, "metadata.finalizers", "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers "+strconv.Quote(text))
			return
		}
	}
}

// fixed checks what an update may not say otherwise than the object does.
func (c *causes) fixed(meta, old document.Value) {
	for _, name := range [...]string{"uid", "deletionTimestamp", "deletionGracePeriodSeconds"} {
		if v := meta.Get(name); v.Exists() && !v.IsNull() && !document.Equal(v, old.Get(name)) {
			c.add(schema.CauseInvalid, "metadata."+name, "Invalid value: "+string(v.AppendJSON(nil))+": field is immutable")
		}
	}
}

// builtInFinalizers are the finalizers without a domain.
var builtInFinalizers = map[string]bool{finalizerOrphan: true, finalizerForeground: true, profile.MediaTypeWord: true}
