package admission

import (
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/podsecurity"
)

// Namespace is the part of a namespace by which plug-ins decide.
type Namespace struct {
	PodSecurity map[string]string  // the labels that name its rules; nil for none
	Annotations map[string]*string // those that plug-ins know; nil for none
}

// ReadNamespace reads a stored namespace.
func ReadNamespace(obj document.Value) *Namespace {
	n := &Namespace{}
	for key, value := range labelsOf(obj) {
		if strings.HasPrefix(key, podsecurity.LabelPrefix) {
			if n.PodSecurity == nil {
				n.PodSecurity = map[string]string{}
			}
			n.PodSecurity[strings.Clone(key)] = strings.Clone(value)
		}
	}
	for _, key := range [...]string{selectorAnnotation, defaultTolerations, allowedTolerations} {
		if v := obj.At("metadata", "annotations").Get(key); v.Exists() {
			if n.Annotations == nil {
				n.Annotations = map[string]*string{}
			}
			text := strings.Clone(v.Text())
			n.Annotations[key] = &text
		}
	}
	return n
}
