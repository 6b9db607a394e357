package selector

import (
	"bytes"
	"strings"

	"k8s.io/apimachinery/pkg/fields"

	"github.com/capstan-dev/capstan/internal/api"
)

// Selector chooses objects of one resource. It does not change after New and is safe for
// concurrent use.
//
// Invariants: labels is sorted by key and fields by slot, which is the order of labels
// and fields in a header, so one walk over the header answers. needle is in the header of
// every chosen object; searching for it excludes most of the others, several times faster
// than the walk.
type Selector struct {
	labels     []labelRule
	fields     []fieldRule
	values     []valueRule
	namespaced bool
	needle     []byte // nil when the rules require no bytes
}

// Query holds the two selectors of a request before their fields are resolved in a
// resource.
type Query struct {
	labels []labelRule
	fields fields.Selector // nil for none
}

// Parse reads the two selectors of a request; empty texts choose everything. The error is
// an *api.Error, 400: the text cannot be parsed or is over MaxText.
func Parse(labelText, fieldText string) (q Query, err error) {
	if labelText != "" {
		if q.labels, err = parseLabels(labelText); err != nil {
			return q, err
		}
	}
	if fieldText != "" {
		q.fields, err = parseFields(fieldText)
	}
	return q, err
}

// For is the selector for a resource. The error is an *api.Error, 400: a field is
// not one of r's selectable fields.
func (q Query) For(r *api.Resource) (*Selector, error) {
	s := &Selector{labels: q.labels, namespaced: r.Namespaced}
	if q.fields != nil {
		if err := s.resolve(q.fields, r); err != nil {
			return nil, err
		}
	}
	s.needle = s.demanded()
	return s, nil
}

// demanded returns the longest piece of a header that the rules require: a label or a
// value that some rule wants to be equal, as AppendMeta writes it. A rule that accepts a
// field's default requires nothing, because old headers leave it out.
func (s *Selector) demanded() []byte {
	var longest []byte
	consider := func(texts ...string) {
		var piece []byte
		for _, text := range texts {
			piece = appendText(piece, text)
		}
		if len(piece) > len(longest) {
			longest = piece
		}
	}
	for i := range s.labels {
		if l := &s.labels[i]; l.op == labelIn && len(l.values) == 1 {
			consider(l.key, l.values[0])
		}
	}
	for i := range s.fields {
		if f := &s.fields[i]; f.slot >= 0 && !f.negate && f.value != f.absent {
			consider(f.value)
		}
	}
	return longest
}

// Everything reports whether the selector chooses every object.
func (s *Selector) Everything() bool {
	return len(s.labels) == 0 && len(s.fields) == 0 && len(s.values) == 0
}

// Name returns the only name that can match, when the fields require one. The caller then
// reads one object and still calls Matches.
func (s *Selector) Name() (string, bool) {
	for i := range s.fields {
		if f := &s.fields[i]; f.slot == inName && !f.negate {
			return f.value, true
		}
	}
	return "", false
}

// Matches reports whether the selector, but for Suits, chooses the object with this key
// (<group>/<plural>/<namespace>/<name>, without the namespace where the
// resource is cluster-scoped) and header. A damaged header matches nothing but
// Everything. It does not allocate.
func (s *Selector) Matches(key string, meta []byte) bool {
	n := 0
	for ; n < len(s.fields) && s.fields[n].slot < 0; n++ {
		if f := &s.fields[n]; !f.accepts(s.keyPart(key, f.slot)) {
			return false
		}
	}
	if len(s.labels) == 0 && n == len(s.fields) {
		return true
	}
	if len(meta) == 0 {
		return s.matchesAbsent(n)
	}
	if s.needle != nil && !bytes.Contains(meta, s.needle) {
		return false
	}
	r := reader{rest: meta}
	if r.number() != metaVersion {
		return false
	}
	labels := reader{rest: r.block()}
	return !r.bad && s.matchLabels(&labels) && s.matchFields(&r, s.fields[n:])
}

// matchLabels walks labels and rules together, both sorted by key.
func (s *Selector) matchLabels(r *reader) bool {
	if len(s.labels) == 0 {
		return true
	}
	rule := 0
	for len(r.rest) > 0 && rule < len(s.labels) {
		key := r.text()
		value := r.text()
		if r.bad {
			return false
		}
		if string(key) < s.labels[rule].key {
			continue // a label without a rule
		}
		for ; rule < len(s.labels) && s.labels[rule].key < string(key); rule++ {
			if !s.labels[rule].acceptsAbsent() {
				return false
			}
		}
		for ; rule < len(s.labels) && s.labels[rule].key == string(key); rule++ {
			if !s.labels[rule].accepts(value) {
				return false
			}
		}
	}
	for ; rule < len(s.labels); rule++ {
		if !s.labels[rule].acceptsAbsent() {
			return false
		}
	}
	return !r.bad
}

// matchFields walks the header's fields and the rules together.
func (s *Selector) matchFields(r *reader, rules []fieldRule) bool {
	if len(rules) == 0 {
		return true
	}
	count := r.number()
	rule := 0
	for slot := 0; uint64(slot) < count && rule < len(rules); slot++ {
		value := r.text()
		if r.bad {
			return false
		}
		for ; rule < len(rules) && rules[rule].slot == slot; rule++ {
			if !rules[rule].acceptsBytes(value) {
				return false
			}
		}
	}
	for ; rule < len(rules); rule++ {
		if !rules[rule].accepts(rules[rule].absent) {
			return false
		}
	}
	return !r.bad
}

// matchesAbsent is the answer for an object without a header: no labels, and the defaults
// of all fields.
func (s *Selector) matchesAbsent(firstField int) bool {
	for i := range s.labels {
		if !s.labels[i].acceptsAbsent() {
			return false
		}
	}
	for i := range s.fields[firstField:] {
		if f := &s.fields[firstField+i]; !f.accepts(f.absent) {
			return false
		}
	}
	return true
}

// keyPart cuts a name or a namespace out of a key.
func (s *Selector) keyPart(key string, part int) string {
	if part == inNothing {
		return ""
	}
	last := strings.LastIndexByte(key, '/')
	if part == inName {
		return key[last+1:]
	}
	if !s.namespaced || last < 0 {
		return ""
	}
	before := key[:last]
	return before[strings.LastIndexByte(before, '/')+1:]
}
