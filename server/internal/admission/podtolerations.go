package admission

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/server/internal/kinds"
)

// toleration is one of a pod. Seconds is meaningful if Timed.
type toleration struct {
	Key, Operator, Value, Effect string
	Timed                        bool
	Seconds                      int64
}

func readToleration(v document.Value) toleration {
	t := toleration{Key: v.Get("key").Text(), Operator: v.Get("operator").Text(), Value: v.Get("value").Text(), Effect: v.Get("effect").Text()}
	t.Seconds, t.Timed = v.Get("tolerationSeconds").Int()
	return t
}

// mistake is the reason why there cannot be such a toleration; "" for none.
func (t toleration) mistake() string {
	switch {
	case !slices.Contains([]string{"", "Exists", "Equal"}, t.Operator):
		return fmt.Sprintf("operator: %q is neither Exists nor Equal", t.Operator)
	case !slices.Contains([]string{"", "NoSchedule", "PreferNoSchedule", "NoExecute"}, t.Effect):
		return fmt.Sprintf("effect: %q is not NoSchedule, PreferNoSchedule or NoExecute", t.Effect)
	case t.Key == "" && t.Operator != "Exists":
		return "operator: has to be Exists where there is no key"
	case t.Operator == "Exists" && t.Value != "":
		return "value: has to be empty with the operator Exists"
	case t.Timed && t.Effect != "NoExecute":
		return "tolerationSeconds: only with the effect NoExecute"
	}
	return ""
}

// append adds the toleration to a pod's spec.
func (t toleration) append(spec document.Value) {
	v := spec.SetArray("tolerations").AppendObject()
	for _, m := range [...][2]string{{"key", t.Key}, {"operator", t.Operator}, {"value", t.Value}, {"effect", t.Effect}} {
		if m[1] != "" {
			v.SetString(m[0], m[1])
		}
	}
	if t.Timed {
		v.SetInt("tolerationSeconds", t.Seconds)
	}
}

// covers reports whether the toleration tolerates all that another one does.
func (t toleration) covers(other toleration) bool {
	switch {
	case t == other:
		return true
	case t.Key != other.Key && (t.Key != "" || t.Operator != "Exists"), t.Effect != other.Effect && t.Effect != "":
		return false
	case t.Effect == "NoExecute" && t.Timed && (!other.Timed || other.Seconds > t.Seconds):
		return false
	case t.Operator == "Exists":
		return true
	}
	return (t.Operator == "Equal" || t.Operator == "") && other.Operator == "Equal" && t.Value == other.Value
}

// distinct leaves out the tolerations that others cover.
func distinct(all []toleration) (kept []toleration) {
	for i, t := range all {
		covered := slices.ContainsFunc(kept, func(other toleration) bool { return other.covers(t) }) ||
			slices.ContainsFunc(all[i+1:], func(other toleration) bool { return other != t && other.covers(t) })
		if !covered {
			kept = append(kept, t)
		}
	}
	return kept
}

// The annotations of namespaces, lists of tolerations in JSON.
const (
	defaultTolerations = "scheduler.alpha." + profile.LabelDomain + "/defaultTolerations"
	allowedTolerations = "scheduler.alpha." + profile.LabelDomain + "/tolerationsWhitelist"
)

// PodTolerations is the configuration of the plug-in PodTolerationRestriction, for
// namespaces that have none of their own.
type PodTolerations struct {
	Default, Allowed []toleration
}

// addTolerations gives a new pod the tolerations of its namespace, and every one that
// reserves memory another for nodes that are short of it.
func (c *Chain) addTolerations(ctx context.Context, r *Request) error {
	if !r.is("", "pods") {
		return nil
	}
	var extra []toleration
	if r.Operation == Create {
		var err error
		if extra, err = c.namespaceTolerations(r, defaultTolerations, c.config.Settings.PodTolerations.Default); err != nil {
			return err
		}
	}
	if !kinds.BestEffort(r.Object.Get("spec")) {
		extra = append(slices.Clip(extra), toleration{Key: "node." + profile.LabelDomain + "/memory-pressure", Operator: "Exists", Effect: "NoSchedule"})
	}
	tolerate(r.Object.Get("spec"), extra)
	return c.checkTolerations(ctx, r)
}

// tolerate adds tolerations to a pod's, without those that others cover.
func tolerate(spec document.Value, extra []toleration) {
	if len(extra) == 0 {
		return
	}
	merged := distinct(append(tolerationsOf(spec), extra...))
	spec.Remove("tolerations")
	for _, t := range merged {
		t.append(spec)
	}
}

// checkTolerations refuses pods with tolerations that their namespace does not allow.
func (c *Chain) checkTolerations(_ context.Context, r *Request) error {
	if !r.is("", "pods") {
		return nil
	}
	allowed, err := c.namespaceTolerations(r, allowedTolerations, c.config.Settings.PodTolerations.Allowed)
	if err != nil || len(allowed) == 0 {
		return err
	}
	scope := "cluster"
	if ns := c.objects.Namespace(r.Namespace); ns != nil && ns.Annotations[allowedTolerations] != nil {
		scope = "namespace"
	}
	for _, t := range tolerationsOf(r.Object.Get("spec")) {
		if !slices.ContainsFunc(allowed, func(a toleration) bool { return a.covers(t) }) {
			return r.forbidf("pod tolerations (possibly merged with namespace default tolerations) conflict with its %s whitelist", scope)
		}
	}
	return nil
}

func tolerationsOf(spec document.Value) (all []toleration) {
	for _, v := range spec.Get("tolerations").Elements() {
		all = append(all, readToleration(v))
	}
	return all
}

// namespaceTolerations are those of an annotation of the pod's namespace, or the cluster's
// where it has none.
func (c *Chain) namespaceTolerations(r *Request, annotation string, cluster []toleration) ([]toleration, error) {
	ns := c.objects.Namespace(r.Namespace)
	if ns == nil || ns.Annotations[annotation] == nil {
		return cluster, nil
	}
	all, err := parseTolerations(*ns.Annotations[annotation])
	if err != nil {
		return nil, r.forbidf("the annotation %s of the namespace is not a list of tolerations", annotation)
	}
	return all, nil
}

func parseTolerations(text string) (all []toleration, err error) {
	if text == "" {
		return nil, nil
	}
	var list []writtenToleration
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, err
	}
	for i := range list {
		all = append(all, list[i].read())
	}
	return all, nil
}

// writtenToleration is a toleration in an annotation or a configuration.
type writtenToleration struct {
	Key      string `json:"key" yaml:"key"`
	Operator string `json:"operator" yaml:"operator"`
	Value    string `json:"value" yaml:"value"`
	Effect   string `json:"effect" yaml:"effect"`
	Seconds  *int64 `json:"tolerationSeconds" yaml:"tolerationSeconds"`
}

func (w *writtenToleration) read() toleration {
	t := toleration{Key: w.Key, Operator: w.Operator, Value: w.Value, Effect: w.Effect, Timed: w.Seconds != nil}
	if t.Timed {
		t.Seconds = *w.Seconds
	}
	return t
}
