package policy

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/selector"
)

// The cells below show the value at a path, which the documents name, in the tables of
// several kinds.

// CellContainers lists the containers of a template of pods.
func (Policy) CellContainers(template document.Value) any { return containerTexts(template, "name") }

// CellImages lists the images of a template of pods.
func (Policy) CellImages(template document.Value) any { return containerTexts(template, "image") }

func containerTexts(template document.Value, member string) string {
	var text []byte
	for _, container := range template.At("spec", "containers").Elements() {
		if len(text) > 0 {
			text = append(text, ',')
		}
		text = container.Get(member).AppendText(text)
	}
	return string(text)
}

// CellSelector is a label selector as text: "a=b,c in (d,e)".
func (Policy) CellSelector(v document.Value) any {
	if isEmpty(v.Get("matchExpressions")) {
		return mapText(v.Get("matchLabels"))
	}
	parsed, err := selector.Checked(v)
	if err != nil {
		return "<error>"
	}
	return parsed.String()
}

// CellLabels lists labels: "a=b,c=d".
func (Policy) CellLabels(labels document.Value) any { return mapText(labels) }

// CellCount is the number of elements or entries.
func (Policy) CellCount(list document.Value) any { return int64(list.Len()) }
