package objects

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// maxAnnotations bounds all annotations of an object together, in bytes of keys and
// values.
const maxAnnotations = 256 << 10

// ValidateChange returns all mistakes of an object: in its metadata, by the schema, and by
// the kind's own rules. before is the object that it replaces, absent on create, and old
// the one for rules about changes. Earlier mistakes that the update does not touch are
// accepted (stillWrong): the rules may be younger than the object.
func ValidateChange(t Ref, obj, old, before document.Value) []schema.Cause {
	causes, _ := validateChange(t, obj, old, before)
	return causes
}

// validateChange is ValidateChange. It also reports whether mistakes by the schema were
// accepted.
func validateChange(t Ref, obj, old, before document.Value) (causes []schema.Cause, forgiven bool) {
	res := t.Row
	v := validation{res: res, check: t.check(), anyFinalizer: t.anyFinalizer(), obj: obj, before: before}
	v.metadata = validateMetadata(res.NameFormat, v.anyFinalizer, obj.Get("metadata"), old.Get("metadata"))
	if !old.Exists() {
		v.state = document.Validate(obj, &res.GV.Validation)
		v.rules = v.brokenRules(old)
		if v.fine() {
			return nil, false
		}
		if res.MetadataLast {
			return append(v.wrongObject(v.rules), v.wrongMetadata()...), false
		}
		wrong := document.OrderCauses(obj, append(v.wrongMetadata(), v.wrongObject(v.rules)...))
		return slices.Repeat(wrong, max(1, res.ChecksOnCreate)), false
	}
	checks := t.checks()
	if slices.Contains(checks, api.CheckObject) || slices.Contains(checks, api.CheckCreated) {
		if v.state = document.Validate(obj, &res.GV.Validation); len(v.state) > 0 && before.Exists() {
			all := len(v.state)
			v.state = document.ValidateTouched(obj, before, &res.GV.Validation)
			if res.Definition != nil && t.writesStatus() {
				v.state = acceptRepeated(v.state)
			}
			forgiven = len(v.state) < all
		}
		v.state = append(v.state, t.lacking(obj, v.state)...)
	}
	v.change = document.ValidateUpdate(obj, old, &res.GV.Validation)
	v.rules = v.brokenRules(old)
	if v.fine() {
		return nil, forgiven
	}
	wrong := v // on the heap, which a valid object does not need
	wrong.forgiveMetadata()
	return wrong.ordered(checks), forgiven
}

// validation is the causes of an object, by their source.
type validation struct {
	res          *catalog.Row
	check        check
	anyFinalizer bool
	obj, before  document.Value
	metadata     metadataCauses
	state        []schema.Cause // by the schema
	change       []schema.Cause // in the change, by the schema
	rules        []schema.Cause // by the kind's own rules, for both
}

func (v *validation) fine() bool {
	return len(v.state)+len(v.change)+len(v.rules) == 0 && v.metadata.none()
}

// ordered lists the causes of an update in the order of the checks.
func (v *validation) ordered(checks []api.Check) []schema.Cause {
	m := &v.metadata
	all := slices.Concat(m.path, m.state, m.change)
	lastObject, hasChange := -1, slices.Contains(checks, api.CheckChange)
	for i, check := range checks {
		if check == api.CheckObject {
			lastObject = i
		}
	}
	var created, state []schema.Cause // broken rules
	if len(v.rules) > 0 {
		if slices.Contains(checks, api.CheckCreated) {
			created = namedBy(v.rules, v.brokenRules(document.Value{})) // the old object may excuse some
		}
		if lastObject >= 0 {
			state = v.brokenRules(v.obj)
		}
	}
	change := document.MergeCauses(v.obj, document.OrderCauses(v.obj, v.change), without(without(v.rules, state), without(created, state)))
	for i, check := range checks {
		switch {
		case check == api.CheckMetadata:
			all = append(all, v.wrongMetadata()...)
		case check == api.CheckMetadataChange:
			all = slices.Concat(all, m.change, m.standard)
		case check == api.CheckCreated:
			all = append(all, v.wrongObject(created)...)
		case check == api.CheckChange:
			all = append(all, change...)
		case i == lastObject && !hasChange:
			all = append(all, v.wrongObject(append(slices.Clip(v.change), v.rules...))...)
		default:
			all = append(all, v.wrongObject(state)...)
		}
	}
	if lastObject < 0 && !hasChange {
		all = append(all, change...)
	}
	return all
}

// wrongMetadata is the causes of the metadata.
func (v *validation) wrongMetadata() []schema.Cause {
	return slices.Concat(v.metadata.names, v.metadata.state, v.metadata.standard)
}

// wrongObject is the causes of the schema and of rules, in the order of 1.25.
func (v *validation) wrongObject(rules []schema.Cause) []schema.Cause {
	var named, others []schema.Cause // a kind's causes of the name come last
	for _, c := range rules {
		if c.Field == "metadata.name" {
			named = append(named, c)
		} else {
			others = append(others, c)
		}
	}
	return document.OrderCauses(v.obj, append(document.MergeCauses(v.obj, v.state, others), named...))
}

// brokenRules returns the causes of the kind's own rules, with old as the earlier state.
func (v *validation) brokenRules(old document.Value) []schema.Cause {
	return v.check.causes(v.obj, old, v.before)
}

// forgiveMetadata removes the metadata's causes that are accepted in an update.
func (v *validation) forgiveMetadata() {
	if !v.before.Exists() {
		return
	}
	meta := v.before.Get("metadata")
	was := validateMetadata(v.res.NameFormat, v.anyFinalizer, meta, meta)
	m := &v.metadata
	for _, part := range []struct {
		now *Causes
		was Causes
	}{{&m.path, was.path}, {&m.names, was.names}, {&m.state, was.state}, {&m.standard, was.standard}, {&m.change, was.change}} {
		if len(*part.now) > 0 {
			*part.now = stillWrong(*part.now, v.obj, v.before, func() []schema.Cause { return part.was })
		}
	}
}

// namedBy are the causes with the field and message of one of the others. Their places in the list may differ.
func namedBy(causes, others []schema.Cause) []schema.Cause {
	type name struct{ field, message string }
	names := make(map[name]bool, len(others))
	for _, c := range others {
		names[name{c.Field, c.Message}] = true
	}
	return slices.DeleteFunc(slices.Clone(causes), func(c schema.Cause) bool { return !names[name{c.Field, c.Message}] })
}

// without is a without as many of each cause as b has.
func without(a, b []schema.Cause) []schema.Cause {
	if len(a) == 0 || len(b) == 0 {
		return a
	}
	left := make(map[schema.Cause]int, len(b))
	for _, c := range b {
		left[c]++
	}
	return slices.DeleteFunc(slices.Clone(a), func(c schema.Cause) bool {
		left[c]--
		return left[c] >= 0
	})
}

// stillWrong is document.StillWrong; a truncated list stays as it is.
func stillWrong(causes []schema.Cause, obj, before document.Value, inBefore func() []schema.Cause) []schema.Cause {
	if len(causes) > api.MaxCauses {
		return causes
	}
	return document.StillWrong(causes, obj, before, inBefore)
}

// metadataCauses is the causes of an object's metadata, in the groups and the order of
// 1.25.
type metadataCauses struct {
	path     Causes // names that a path cannot hold
	names    Causes
	state    Causes
	standard Causes // finalizers without a domain
	change   Causes
}

func (m *metadataCauses) none() bool {
	return len(m.path)+len(m.names)+len(m.state)+len(m.standard)+len(m.change) == 0
}

// validateMetadata checks the rules for the metadata of every kind.
func validateMetadata(nameFormat string, anyFinalizer bool, meta, old document.Value) (m metadataCauses) {
	if n, ok := meta.Get("generation").Int(); ok && n < 0 {
		m.state.Add(schema.CauseInvalid, "metadata.generation", fmt.Sprintf("Invalid value: %d: must be greater than or equal to 0", n))
	}
	m.state.descriptions(meta)
	m.state.finalizers(meta)
	m.names.names(nameFormat, meta)
	if !anyFinalizer {
		m.standard.standardFinalizers(meta)
	}
	if !old.Exists() {
		if name := meta.Get("name").Text(); len(m.names) == 0 && catalog.BadSegment(name) {
			m.names.Add(schema.CauseInvalid, "metadata.name", "Invalid value: "+strconv.Quote(name)+": may not hold control characters: no path could name the object")
		}
		return m
	}
	m.change.addedFinalizers(meta, old)
	m.change.fixed(meta, old)
	m.change.descriptions(meta)
	m.path.names("path-segment", meta)
	return m
}

// names checks the name of an object, and generateName, by a rule.
func (c *Causes) names(rule string, meta document.Value) {
	prefix, name := meta.Get("generateName").Text(), meta.Get("name").Text()
	switch {
	case prefix == "":
	case rule == "path-segment":
		if strings.ContainsAny(prefix, "/%") {
			c.Add(schema.CauseInvalid, "metadata.generateName", "Invalid value: "+strconv.Quote(prefix)+": may not contain '/' or '%'")
		}
	default:
		c.format("metadata.generateName", rule, prefix, document.MaskDash(prefix))
	}
	if name == "" {
		c.Add(schema.CauseRequired, "metadata.name", "Required value: name or generateName is required")
	} else {
		c.format("metadata.name", rule, name, name)
	}
}

type Causes []schema.Cause

// Add appends a cause.
func (c *Causes) Add(reason, field, message string) {
	if len(*c) <= api.MaxCauses { // one more than is reported, to notice the rest
		*c = append(*c, schema.Cause{Reason: reason, Field: field, Message: message})
	}
}

// format checks text by a named rule; shown is the value as it was sent.
func (c *Causes) format(field, rule, shown, text string) {
	for _, problem := range document.CheckFormat(rule, text) {
		c.Add(schema.CauseInvalid, field, "Invalid value: "+strconv.Quote(shown)+": "+problem)
	}
}

// descriptions checks labels, annotations and other members that clients write.
func (c *Causes) descriptions(meta document.Value) {
	c.labels(meta.Get("labels"))
	c.annotations(meta.Get("annotations"))
	c.owners(meta.Get("ownerReferences"))
}

func (c *Causes) labels(labels document.Value) {
	for key, value := range labels.Members() {
		c.format("metadata.labels", "qualified-name", key, key)
		if text := value.Text(); text != "" {
			c.format("metadata.labels", "label-value", text, text)
		}
	}
}

func (c *Causes) annotations(annotations document.Value) {
	total := 0
	for key, value := range annotations.Members() {
		c.format("metadata.annotations", "qualified-name", key, strings.ToLower(key))
		total += len(key) + len(value.Text())
	}
	if total > maxAnnotations {
		c.Add(schema.CauseTooLong, "metadata.annotations", fmt.Sprintf("Too long: must have at most %d bytes", maxAnnotations))
	}
}

// owners checks the references to owners, which are all reported at the list.
func (c *Causes) owners(owners document.Value) {
	const list = "metadata.ownerReferences"
	controller := ""
	for _, owner := range owners.Elements() {
		version := owner.Get("apiVersion").Text()
		if version == "" || strings.HasSuffix(version, "/") || strings.Count(version, "/") > 1 {
			c.Add(schema.CauseInvalid, list+".apiVersion", "Invalid value: "+strconv.Quote(version)+": version must not be empty")
		}
		for _, name := range []string{"kind", "name", "uid"} {
			if owner.Get(name).Text() == "" {
				c.Add(schema.CauseInvalid, list+"."+name, "Invalid value: \"\": "+name+" must not be empty")
			}
		}
		if version == "v1" && owner.Get("kind").Equals("Event") {
			c.Add(schema.CauseInvalid, list, "Invalid value: an Event is disallowed from being an owner")
		}
		if !owner.Get("controller").Bool() {
			continue
		}
		if name := owner.Get("name").Text(); controller == "" {
			controller = name
		} else {
			c.Add(schema.CauseInvalid, list,
				fmt.Sprintf("Invalid value: Only one reference can have Controller set to true. Found \"true\" in references for %s and %s", controller, name))
		}
	}
}

func (c *Causes) finalizers(meta document.Value) {
	orphan, foreground := false, false
	for _, f := range meta.Get("finalizers").Elements() {
		text := f.Text()
		orphan = orphan || text == finalizerOrphan
		foreground = foreground || text == finalizerForeground
		c.format("metadata.finalizers", "qualified-name", text, text)
	}
	if orphan && foreground {
		c.Add(schema.CauseInvalid, "metadata.finalizers", "Invalid value: finalizer orphan and foregroundDeletion cannot be both set")
	}
}

// standardFinalizers checks that finalizers without a domain are known.
func (c *Causes) standardFinalizers(meta document.Value) {
	for i, f := range meta.Get("finalizers").Elements() {
		if text := f.Text(); !strings.Contains(text, "/") && !builtInFinalizers[text] {
			c.Add(schema.CauseInvalid, fmt.Sprintf("metadata.finalizers[%d]", i),
				"Invalid value: "+strconv.Quote(text)+": name is neither a standard finalizer name nor is it fully qualified")
		}
	}
}

// addedFinalizers checks that a terminating object gets none.
func (c *Causes) addedFinalizers(meta, old document.Value) {
	if !old.Get("deletionTimestamp").Exists() {
		return
	}
	for _, f := range meta.Get("finalizers").Elements() {
		if text := f.Text(); !old.Get("finalizers").HasText(text) {
			c.Add(schema.CauseForbidden, "metadata.finalizers", "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers "+strconv.Quote(text))
			return
		}
	}
}

// fixed checks the members that an update may not change.
func (c *Causes) fixed(meta, old document.Value) {
	for _, name := range [...]string{"uid", "deletionTimestamp", "deletionGracePeriodSeconds"} {
		if v := meta.Get(name); v.Exists() && !v.IsNull() && !document.Equal(v, old.Get(name)) {
			c.Add(schema.CauseInvalid, "metadata."+name, "Invalid value: "+string(v.AppendJSON(nil))+": field is immutable")
		}
	}
}

// builtInFinalizers are the finalizers without a domain.
var builtInFinalizers = map[string]bool{finalizerOrphan: true, finalizerForeground: true, profile.MediaTypeWord: true}

// ValidateScale returns all mistakes of a written Scale: in its metadata, and by the
// schema.
func ValidateScale(scale document.Value) []schema.Cause {
	wrong := validateMetadata("dns1123-subdomain", false, scale.Get("metadata"), document.Value{})
	return slices.Concat(wrong.names, wrong.state, wrong.standard, document.Validate(scale, nil))
}
