package apply

import (
	"bytes"
	"encoding/json"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// kubectl is the manager for which client-side and server-side apply are the same: it may
// take over the fields that it applied before from the client's side, and the annotation
// of client-side apply follows its configurations here.
const (
	kubectl               = "kubectl"
	lastAppliedAnnotation = "kubectl." + profile.LabelDomain + "/last-applied-configuration"
	maxAnnotations        = 256 << 10 // bytes of all annotations of an object
)

// withoutLastApplied leaves out the conflicts about fields that are unchanged since
// client-side apply. ok is false if that was never used.
func (k *Kind) withoutLastApplied(live document.Value, conflicts []conflict) (left []conflict, ok bool) {
	text := live.At("metadata", "annotations", lastAppliedAnnotation).Text()
	if text == "" {
		return nil, false
	}
	last, err := document.DecodeAny([]byte(text), document.Limits{})
	if err != nil {
		return nil, false
	}
	defer last.Release()
	if !last.Root().Get("apiVersion").Equals(k.APIVersion) {
		return nil, false
	}
	g := k.grammar()
	d := g.compare(k.Type, last.Root(), live)
	allowed := g.collect(k.Type, last.Root()).Difference(d.changed()).Difference(d.removed)
	for _, c := range conflicts {
		if !allowed.Has(c.path...) {
			left = append(left, c)
		}
	}
	return left, true
}

// setLastApplied updates the annotation to the applied configuration, if the object has
// it. An object whose annotations would be too large with it loses it.
func setLastApplied(obj, applied document.Value) {
	annotations := obj.At("metadata", "annotations")
	if annotations.Get(lastAppliedAnnotation).Text() == "" {
		return
	}
	plain, err := decoded(applied.AppendJSON(nil))
	if err != nil {
		return
	}
	defer plain.Release()
	if own := plain.Root().At("metadata", "annotations"); own.Exists() {
		own.Remove(lastAppliedAnnotation)
	}
	var escaped bytes.Buffer
	json.HTMLEscape(&escaped, appendStepValue(nil, plain.Root())) // as clients write it
	text := escaped.String() + "\n"
	size := len(lastAppliedAnnotation) + len(text)
	for name, v := range annotations.Members() {
		if name != lastAppliedAnnotation {
			size += len(name) + len(v.Text())
		}
	}
	if size > maxAnnotations {
		annotations.Remove(lastAppliedAnnotation)
		return
	}
	annotations.SetString(lastAppliedAnnotation, text)
}
