package admission

import (
	"context"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

const (
	taintNotReady    = "node." + profile.LabelDomain + "/not-ready"
	taintUnreachable = "node." + profile.LabelDomain + "/unreachable"
)

// taintNode keeps pods off a new node until its conditions are known.
func (c *Chain) taintNode(_ context.Context, r *Request) error {
	if r.Operation != Create || !r.is("", "nodes") {
		return nil
	}
	taints := r.Object.SetObject("spec").SetArray("taints")
	for _, t := range taints.Elements() {
		if t.Get("key").Equals(taintNotReady) && t.Get("effect").Equals("NoSchedule") {
			return nil
		}
	}
	taint := taints.AppendObject()
	taint.SetString("key", taintNotReady)
	taint.SetString("effect", "NoSchedule")
	return nil
}

// tolerations lets a pod without own tolerations stay for a while on a node that is not
// ready or not reachable.
func (c *Chain) tolerations(_ context.Context, r *Request) error {
	if !r.is("", "pods") {
		return nil
	}
	spec := r.Object.SetObject("spec")
	for _, failure := range [...]struct {
		taint   string
		seconds int
	}{{taintNotReady, c.config.NotReadyTolerationSeconds}, {taintUnreachable, c.config.UnreachableTolerationSeconds}} {
		if toleratesEviction(spec.Get("tolerations"), failure.taint) {
			continue
		}
		t := spec.SetArray("tolerations").AppendObject()
		t.SetString("key", failure.taint)
		t.SetString("operator", "Exists")
		t.SetString("effect", "NoExecute")
		t.SetInt("tolerationSeconds", int64(max(failure.seconds, 0)))
	}
	return nil
}

// toleratesEviction reports whether a toleration covers eviction by the taint with the
// key.
func toleratesEviction(tolerations document.Value, key string) bool {
	for _, t := range tolerations.Elements() {
		is := func(member, text string) bool {
			v := t.Get(member)
			return !v.Exists() || v.Equals("") || v.Equals(text)
		}
		if is("effect", "NoExecute") && is("key", key) {
			return true
		}
	}
	return false
}
