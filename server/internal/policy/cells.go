package policy

import (
	"bytes"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
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

// CellReady is "ready/wanted" of the pods of a workload.
func (Policy) CellReady(obj document.Value) any {
	return ofAll(int(number(obj.At("status", "readyReplicas"))), int(number(obj.At("spec", "replicas"))))
}

// CellSelector is a label selector as text: "a=b,c in (d,e)".
func (Policy) CellSelector(selector document.Value) any {
	if isEmpty(selector.Get("matchExpressions")) {
		return mapText(selector.Get("matchLabels"))
	}
	parsed, err := parseSelector(selector)
	if err != nil {
		return "<error>"
	}
	return parsed.String()
}

// CellLabels lists labels: "a=b,c=d".
func (Policy) CellLabels(labels document.Value) any { return mapText(labels) }

// CellCount is the number of elements or entries.
func (Policy) CellCount(list document.Value) any { return int64(list.Len()) }

// CellReference is the kind and the name of another object.
func (Policy) CellReference(ref document.Value) any {
	return ref.Get("kind").Text() + "/" + ref.Get("name").Text()
}

// CellUsers lists the users among subjects.
func (Policy) CellUsers(subjects document.Value) any { return subjectTexts(subjects, "User") }

// CellGroups lists the groups among subjects.
func (Policy) CellGroups(subjects document.Value) any { return subjectTexts(subjects, "Group") }

// CellServiceAccounts lists the service accounts among subjects.
func (Policy) CellServiceAccounts(subjects document.Value) any {
	return subjectTexts(subjects, "ServiceAccount")
}

func subjectTexts(subjects document.Value, kind string) string {
	var list []string
	for _, s := range subjects.Elements() {
		if s.Get("kind").Equals(kind) {
			text := s.Get("name").Text()
			if kind == "ServiceAccount" {
				text = s.Get("namespace").Text() + "/" + text
			}
			list = append(list, text)
		}
	}
	return strings.Join(list, ", ")
}

// CellAmount is a number of pods or a share of all.
func (Policy) CellAmount(v document.Value) any {
	if !isSet(v) {
		return "N/A"
	}
	return string(bytes.Trim(v.AppendJSON(nil), `"`))
}

// CellStoragePhase is the phase of a volume or a claim, Terminating if it is being
// deleted.
func (Policy) CellStoragePhase(obj document.Value) any {
	if isSet(obj.At("metadata", "deletionTimestamp")) {
		return "Terminating"
	}
	return obj.At("status", "phase").Text()
}

// CellStorageClass is the class of a volume or a claim; an annotation is the older way to
// name it.
func (Policy) CellStorageClass(obj document.Value) any {
	if v := obj.At("metadata", "annotations", oldClassAnnotation); v.Exists() {
		return v.Text()
	}
	return obj.At("spec", "storageClassName").Text()
}

// CellAccessModes lists access modes in their short forms.
func (Policy) CellAccessModes(modes document.Value) any {
	var list []string
	for _, mode := range [...][2]string{{"ReadWriteOnce", "RWO"}, {"ReadOnlyMany", "ROX"}, {"ReadWriteMany", "RWX"}, {"ReadWriteOncePod", "RWOP"}} {
		if modes.HasText(mode[0]) {
			list = append(list, mode[1])
		}
	}
	return strings.Join(list, ",")
}
