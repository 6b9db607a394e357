package apply

import (
	"errors"
	"slices"

	"github.com/capstan-dev/capstan/internal/document"
)

// Limits of a fieldsV1 object.
const (
	maxDepth = 10000   // steps of a path
	maxPaths = 1 << 20 // names in one set
)

// Errors of ReadSet.
var (
	errFieldsShape = errors.New(`the value of a path in fieldsV1 is not an object: write {"f:name": {}}`)
	errFieldsStep  = errors.New(`a name in fieldsV1 is no step of a path: write f:<field>, k:<keys>, v:<value>, i:<position> or a single dot`)
	errFieldsLimit = errors.New("fieldsV1 is too deep or has too many names")
)

// ReadSet reads a fieldsV1 object.
func ReadSet(fields document.Value) (Set, error) {
	left := maxPaths
	s, _, err := readSet(fields, 0, &left)
	return s, err
}

// readSet also reports whether the value itself is a member: it has a dot or is empty.
func readSet(v document.Value, depth int, left *int) (Set, bool, error) {
	switch v.Kind() {
	case document.Object:
	case document.Null, document.Absent:
		return Set{}, true, nil
	default:
		return Set{}, false, errFieldsShape
	}
	if depth > maxDepth {
		return Set{}, false, errFieldsLimit
	}
	nodes, self := make([]node, 0, v.Len()), false
	for name, below := range v.Members() {
		if *left--; *left < 0 {
			return Set{}, false, errFieldsLimit
		}
		if name == "." {
			self = true
			continue
		}
		step, ok, bad := parseStep(name)
		if bad {
			return Set{}, false, errFieldsStep
		}
		if !ok {
			continue
		}
		set, member, err := readSet(below, depth+1, left)
		if err != nil {
			return Set{}, false, err
		}
		nodes = append(nodes, node{step, member, set})
	}
	if len(nodes) == 0 {
		return Set{}, true, nil
	}
	return sortNodes(nodes), self, nil
}

// AppendFields writes the set as a fieldsV1 object, in the order and form of
// Kubernetes.
func (s Set) AppendFields(dst []byte) []byte {
	return s.appendFields(dst, false)
}

func (s Set) appendFields(dst []byte, self bool) []byte {
	dst = append(dst, '{')
	if self && len(s.nodes) > 0 {
		dst = append(dst, `".":{}`...)
	}
	for i, n := range s.nodes {
		if i > 0 || self {
			dst = append(dst, ',')
		}
		dst = append(n.step.appendName(dst), ':')
		dst = n.below.appendFields(dst, n.member)
	}
	return append(dst, '}')
}

// touches reports whether a fieldsV1 object has a member of the set, without reading all
// of the object.
func touches(fields document.Value, s Set) bool {
	if len(s.nodes) > few && fields.Len() < len(s.nodes) {
		return touchedBy(fields, s)
	}
	var name []byte
	for i := range s.nodes {
		n := &s.nodes[i]
		name = append(append(name[:0], byte(n.step.Kind), ':'), n.step.Text...)
		v := fields.Get(string(name))
		if !v.Exists() {
			continue
		}
		if n.member && isMember(v) || touches(v, n.below) {
			return true
		}
	}
	return false
}

// touchedBy is touches for a set that is larger than the object.
func touchedBy(fields document.Value, s Set) bool {
	for name, v := range fields.Members() {
		if len(name) < 2 {
			continue
		}
		n := s.at(Step{StepKind(name[0]), name[2:]})
		if n.member && isMember(v) || touches(v, n.below) {
			return true
		}
	}
	return false
}

// holds reports whether a fieldsV1 object has all of the set.
func holds(fields document.Value, s Set) bool {
	var name []byte
	for i := range s.nodes {
		n := &s.nodes[i]
		name = append(append(name[:0], byte(n.step.Kind), ':'), n.step.Text...)
		v := fields.Get(string(name))
		if !v.Exists() || n.member && !isMember(v) || !holds(v, n.below) {
			return false
		}
	}
	return true
}

// isMember reports whether the value in a fieldsV1 object stands for its path.
func isMember(v document.Value) bool { return v.Len() == 0 || v.Get(".").Exists() }

func sortedNames(names []string) []string {
	if !slices.IsSorted(names) {
		names = slices.Sorted(slices.Values(names))
	}
	return names
}
