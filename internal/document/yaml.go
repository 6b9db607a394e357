package document

import (
	"fmt"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

// Aliases let a short YAML text stand for a very long document. These bound
// what it may stand for.
const (
	maxExpanded      = 16 << 20 // bytes of text and structure, aliases written out
	maxExpandedDepth = 512
)

// FromYAML converts the first document of YAML text to JSON text, by the rules
// of Kubernetes (YAML 1.1: yes is true, 0777 is octal). Keys that are there
// more than once are reported as problems. The error says what is wrong with
// the YAML; it is a *LimitError when aliases would make the document too large.
func FromYAML(data []byte) (json []byte, problems []Problem, err error) {
	if json, ok := fromJSON(data); ok {
		return json, nil, nil
	}
	// The parsers report most errors by panicking inside; what they let out is
	// the sender's mistake all the same.
	defer func() {
		if r := recover(); r != nil {
			json, problems, err = nil, nil, fmt.Errorf("yaml: the text cannot be read: %v", r)
		}
	}()
	var root yaml.Node
	if err := yaml.Unmarshal(data, &root); err != nil {
		return nil, nil, err
	}
	w := yamlWalk{sizes: make(map[*yaml.Node]expanse)}
	if size, err := w.measure(&root, 0); err != nil {
		return nil, nil, err
	} else if size.bytes > maxExpanded {
		return nil, nil, &LimitError{"bytes with all aliases written out", maxExpanded}
	}
	w.repeated(&root)
	json, err = sigsyaml.YAMLToJSON(data)
	if err != nil {
		return nil, nil, err
	}
	return json, w.problems, nil
}

// expanse is what a node stands for with its aliases written out.
type expanse struct{ bytes, depth int64 }

// yamlWalk looks at a tree of YAML nodes before it is converted.
type yamlWalk struct {
	sizes    map[*yaml.Node]expanse // of anchored nodes; bytes -1 while being measured
	way      []step                 // from the root to the mapping that repeated looks at
	problems []Problem
}

// measure returns the expanse of n. Every node is visited once, whatever the
// aliases say: anchors come before their aliases in the text.
func (w *yamlWalk) measure(n *yaml.Node, depth int) (expanse, error) {
	if depth > 2*maxExpandedDepth {
		return expanse{}, &LimitError{"levels of nesting", maxExpandedDepth}
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n == nil {
		return expanse{}, nil
	}
	if known, ok := w.sizes[n]; ok {
		if known.bytes < 0 {
			return expanse{}, fmt.Errorf("yaml: line %d: the anchor %q contains itself", n.Line, n.Anchor)
		}
		return known, nil
	}
	if n.Anchor != "" {
		w.sizes[n] = expanse{bytes: -1}
	}
	sum := expanse{bytes: int64(len(n.Value)) + 3}
	for _, child := range n.Content {
		part, err := w.measure(child, depth+1)
		if err != nil {
			return expanse{}, err
		}
		sum.bytes = min(sum.bytes+part.bytes, maxExpanded+1)
		sum.depth = max(sum.depth, part.depth+1)
	}
	if sum.depth > maxExpandedDepth {
		return expanse{}, &LimitError{"levels of nesting", maxExpandedDepth}
	}
	if n.Anchor != "" {
		w.sizes[n] = sum
	}
	return sum, nil
}

// step is a place in the YAML tree: a key, or an index when there is no key.
type step struct {
	key   string
	index int
}

// repeated collects the keys that a mapping has more than once.
func (w *yamlWalk) repeated(n *yaml.Node) {
	switch n.Kind {
	case yaml.DocumentNode:
		for _, child := range n.Content {
			w.repeated(child)
		}
	case yaml.SequenceNode:
		for i, child := range n.Content {
			w.below(step{index: i}, child)
		}
	case yaml.MappingNode:
		seen := make(map[string]bool, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind == yaml.AliasNode {
				key = key.Alias
			}
			if key.Kind == yaml.ScalarNode && key.Tag != "!!merge" {
				if seen[key.Value] && len(w.problems) < maxProblems {
					w.problems = addProblem(w.problems, Problem{Duplicate: true, Path: w.path(key.Value)})
				}
				seen[key.Value] = true
			}
			w.below(step{key: key.Value}, n.Content[i+1])
		}
	}
}

func (w *yamlWalk) below(s step, n *yaml.Node) {
	w.way = append(w.way, s)
	w.repeated(n)
	w.way = w.way[:len(w.way)-1]
}

// path is the way to a key of the mapping that is being looked at.
func (w *yamlWalk) path(key string) string {
	var dst []byte
	for _, s := range w.way {
		if len(dst) > maxPath {
			break
		}
		if s.key == "" {
			dst = fmt.Appendf(dst, "[%d]", s.index)
		} else {
			dst = appendStep(dst, s.key)
		}
	}
	return string(appendStep(dst, key))
}
