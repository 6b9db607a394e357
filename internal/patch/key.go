package patch

import (
	"slices"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
)

// keyOf returns the identity of an element: the value of its merge key, or the element
// itself in a list of plain values.
func (l *list) keyOf(v document.Value) (key string, ok bool) {
	if l.key != "" {
		v = v.Get(l.key)
	}
	switch v.Kind() {
	case document.String, document.Number, document.Bool:
		return scalarKey(v), true
	}
	return "", false
}

// scalarKey distinguishes strings from other values with the same text.
func scalarKey(v document.Value) string {
	if v.Kind() == document.String {
		return v.Text()
	}
	var space [32]byte
	return "\x00" + string(v.AppendJSON(space[:0]))
}

// needKey is keyOf for elements of a patch, which must have it.
func (l *list) needKey(v document.Value, what string, i int) (string, error) {
	key, ok := l.keyOf(v)
	if !ok {
		return "", api.BadRequest("%s%s: element %d must have the merge key %q, with a string, number or boolean", l.at, what, i, l.key)
	}
	return key, nil
}

// readOrder reads $setElementOrder. The elements that the patch sets must be
// in it, in the same order.
func (l *list) readOrder(c *change) error {
	if c.order.Len() == 0 {
		return nil
	}
	wanted := make([]string, 0, c.order.Len())
	l.order = make(map[string]int, c.order.Len())
	for i, v := range c.order.Elements() {
		key, err := l.needKey(v, " in $setElementOrder", i)
		if err != nil {
			return err
		}
		if _, known := l.order[key]; !known {
			l.order[key] = i
		}
		wanted = append(wanted, key)
	}
	for i, v := range c.value.Elements() {
		if word, _ := directiveOf(v); word == deleteWord || word == replaceWord {
			continue
		}
		key, err := l.needKey(v, "", i)
		if err != nil {
			return err
		}
		next := slices.Index(wanted, key)
		if next < 0 {
			return api.BadRequest("%s: element %d of the patch is not in $setElementOrder, or not in that order", l.at, i)
		}
		wanted = wanted[next+1:]
	}
	return nil
}

// sets is an element of a patch that adds or changes an element.
type sets struct {
	key   string
	value document.Value
	index int
}

// split separates the elements with directives from a list of a patch.
func (l *list) split(patch document.Value) (set []sets, deleted map[string]bool, replace bool, err error) {
	set = make([]sets, 0, patch.Len())
	for i, v := range patch.Elements() {
		word, _ := directiveOf(v)
		switch word {
		case replaceWord:
			replace = true
			continue
		case mergeWord, otherWord:
			return nil, nil, false, unknownDirective(v, &fieldPath{up: l.at, index: i})
		}
		key, err := l.needKey(v, "", i)
		if err != nil {
			return nil, nil, false, err
		}
		if word != deleteWord {
			set = append(set, sets{key, v, i})
			continue
		}
		if deleted == nil {
			deleted = make(map[string]bool)
		}
		deleted[key] = true
	}
	return set, deleted, replace, nil
}
