package admission

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/podsecurity"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/server/internal/metrics"
)

// podTemplates are the paths of the pods, or templates of pods, in the kinds that have
// one.
var podTemplates = map[api.GroupResource][]string{
	{Resource: "pods"}:                        {},
	{Resource: "podtemplates"}:                {"template"},
	{Resource: "replicationcontrollers"}:      {"spec", "template"},
	{Group: "apps", Resource: "replicasets"}:  {"spec", "template"},
	{Group: "apps", Resource: "deployments"}:  {"spec", "template"},
	{Group: "apps", Resource: "statefulsets"}: {"spec", "template"},
	{Group: "apps", Resource: "daemonsets"}:   {"spec", "template"},
	{Group: "batch", Resource: "jobs"}:        {"spec", "template"},
	{Group: "batch", Resource: "cronjobs"}:    {"spec", "jobTemplate", "spec", "template"},
}

// judgedSubresource is the only one of pods through which their containers change.
const judgedSubresource, judgedContainers = "ephemeralcontainers", "ephemeralContainers"

// podSecurity refuses pods that break the rules of their namespace, warns of templates
// that do, and checks the labels of namespaces that name the rules.
func (c *Chain) podSecurity(ctx context.Context, r *Request) error {
	if r.is("", "namespaces") {
		return c.checkPodRules(ctx, r)
	}
	path, known := podTemplates[r.Resource.GroupResource()]
	if !known || r.Subresource != "" && (len(path) > 0 || r.Subresource != judgedSubresource) {
		return nil
	}
	settings, j := &c.config.Settings.PodSecurity, judgment{c, r, "controller"}
	if len(path) == 0 {
		j.about = "pod"
	}
	switch {
	case slices.Contains(settings.Namespaces, r.Namespace):
		return j.exempt("namespace")
	case r.User != nil && slices.Contains(settings.Usernames, r.User.Name):
		return j.exempt("user")
	}
	policy, mistakes := c.podPolicy(r.Namespace)
	switch isPod := len(path) == 0; {
	case len(mistakes) > 0:
	case isPod && policy.Privileged():
		r.Annotate(podsecurity.LabelPrefix+"enforce-policy", "privileged:latest")
		j.count("allow", policy.Enforce, "enforce")
		return nil
	case !isPod && policy.Audit.Level == podsecurity.Privileged && policy.Warn.Level == podsecurity.Privileged:
		return nil
	}
	pod := r.Object.At(path...)
	if len(path) == 0 && r.Operation == Update && !newContainers(pod, r.Old) || !pod.Exists() || pod.IsNull() {
		return nil
	}
	if class := pod.At("spec", "runtimeClassName").Text(); class != "" && slices.Contains(settings.RuntimeClasses, class) {
		return j.exempt("runtimeClass")
	}
	if len(mistakes) > 0 {
		j.annotate("error", "Failed to parse policy: "+mistakeText(mistakes))
		c.config.Metrics.Failed(false, operations[r.Operation], j.about, r.Subresource)
	}
	return j.decide(policy, pod, len(path) == 0)
}

// podPolicy is the policy of a namespace, and the mistakes in its labels.
func (c *Chain) podPolicy(namespace string) (podsecurity.Policy, []podsecurity.Mistake) {
	ns := c.objects.Namespace(namespace)
	if ns == nil || len(ns.PodSecurity) == 0 {
		return c.config.Settings.PodSecurity.Defaults, nil
	}
	return podsecurity.Of(maps.All(ns.PodSecurity), c.config.Settings.PodSecurity.Defaults)
}

// judgment is that of one write.
type judgment struct {
	*Chain
	r     *Request
	about string // pod or controller, in metrics
}

// operations are the names of operations in metrics.
var operations = map[Operation]string{Create: "create", Update: "update"}

func (j *judgment) annotate(key, value string) {
	j.r.Annotate(podsecurity.LabelPrefix+key, value)
}

func (j *judgment) exempt(by string) error {
	j.annotate("exempt", by)
	j.config.Metrics.Exempted(operations[j.r.Operation], j.about, j.r.Subresource)
	return nil
}

func (j *judgment) count(decision string, rules podsecurity.Rules, mode string) {
	version := rules.Version.String()
	if rules.Level == podsecurity.Privileged {
		version = "latest"
	} else if rules.Future() {
		version = "future"
	}
	j.config.Metrics.Evaluated(metrics.PodJudgment{Decision: decision, Mode: mode, Level: rules.Level.String(), Version: version,
		Operation: operations[j.r.Operation], About: j.about, Subresource: j.r.Subresource})
}

// decide judges a pod, or a template, by a policy. Only pods are refused.
func (j *judgment) decide(policy podsecurity.Policy, pod document.Value, enforce bool) (refusal error) {
	known := map[podsecurity.Rules]podsecurity.Violations{}
	judge := func(rules podsecurity.Rules) podsecurity.Violations {
		found, done := known[rules]
		if !done {
			found = podsecurity.Evaluate(rules, pod.Get("metadata"), pod.Get("spec"))
			known[rules] = found
		}
		return found
	}
	if enforce {
		decision := "allow"
		if found := judge(policy.Enforce); found != nil {
			decision = "deny"
			refusal = api.Forbidden(j.r.Resource.GroupResource(), j.r.Name, fmt.Sprintf("violates PodSecurity %q: %s", policy.Enforce, found))
		}
		j.count(decision, policy.Enforce, "enforce")
		if j.r.Audited(false) {
			j.annotate("enforce-policy", policy.Enforce.String())
		}
	}
	if found := judge(policy.Audit); found != nil {
		j.count("deny", policy.Audit, "audit")
		if j.r.Audited(false) {
			j.annotate("audit-violations", fmt.Sprintf("would violate PodSecurity %q: %s", policy.Audit, found))
		}
	}
	if refusal != nil {
		return refusal
	}
	if found := judge(policy.Warn); found != nil {
		j.count("deny", policy.Warn, "warn")
		j.r.warn(fmt.Sprintf("would violate PodSecurity %q: %s", policy.Warn, found))
	}
	return nil
}

// newContainers reports whether an update of a pod changes what is judged: its
// containers, their images, or their profiles.
func newContainers(pod, old document.Value) bool {
	const profiles = "container.seccomp.security.alpha." + profile.LabelDomain + "/"
	annotations, before := pod.At("metadata", "annotations"), old.At("metadata", "annotations")
	changed := func(c, was document.Value) bool {
		key := profiles + c.Get("name").Text()
		return !was.Exists() || c.Get("image").Text() != was.Get("image").Text() || annotations.Get(key).Text() != before.Get(key).Text()
	}
	for _, name := range [...]string{"containers", "initContainers"} {
		list, was := pod.At("spec", name), old.At("spec", name)
		if list.Len() != was.Len() {
			return true
		}
		for i, c := range list.Elements() {
			if changed(c, was.Index(i)) {
				return true
			}
		}
	}
	was := old.At("spec", "ephemeralContainers")
	for _, c := range pod.At("spec", "ephemeralContainers").Elements() {
		if changed(c, was.ElementBy("name", c.Get("name").Text())) {
			return true
		}
	}
	return false
}

// checkPodRules refuses wrong labels of a namespace. Stricter rules than before are tried
// on its pods, and those that break them are named in warnings.
func (c *Chain) checkPodRules(ctx context.Context, r *Request) error {
	settings := &c.config.Settings.PodSecurity
	policy, mistakes := podsecurity.Of(labelsOf(r.Object), settings.Defaults)
	var before podsecurity.Policy
	if r.Operation == Update {
		var earlier []podsecurity.Mistake
		if before, earlier = podsecurity.Of(labelsOf(r.Old), settings.Defaults); slices.Equal(mistakes, earlier) {
			mistakes = nil
		}
	}
	if len(mistakes) > 0 {
		causes := make([]api.Cause, len(mistakes))
		for i, m := range mistakes {
			causes[i] = api.Cause{Reason: schema.CauseInvalid, Field: m.Field(), Message: m.Message()}
		}
		return r.Resource.Invalid(r.Name, causes)
	}
	now := policy.Enforce
	if r.Operation == Update && (now == before.Enforce || now.Level == podsecurity.Privileged || now.Version == before.Enforce.Version &&
		now.Level <= before.Enforce.Level) {
		return nil
	}
	if slices.Contains(settings.Namespaces, r.Name) {
		if !policy.Privileged() && !policy.Equivalent(&settings.Defaults) {
			r.warn(fmt.Sprintf("namespace %q is exempt from Pod Security, and the policy (%s) will be ignored", r.Name, &policy))
		}
		return nil
	}
	if r.Operation == Update {
		for _, text := range c.violating(ctx, r.Name, now) {
			r.warn(text)
		}
	}
	return nil
}

func labelsOf(obj document.Value) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for key, v := range obj.At("metadata", "labels").Members() {
			if !yield(key, v.Text()) {
				return
			}
		}
	}
}

// Bounds of the judgment of a namespace's pods.
const (
	mostJudged   = 3000
	longestTrial = time.Second
)

// alike are pods with the same violations.
type alike struct {
	first string // the least name
	n     int
}

// violating are the warnings about the pods of a namespace that break rules. Of the pods
// of one controller one comes before those of the others, so that a bound in number or
// time leaves out the least.
func (c *Chain) violating(ctx context.Context, namespace string, rules podsecurity.Rules) []string {
	limit := longestTrial
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline)/2)
	}
	end := time.Now().Add(limit)
	found := map[string]*alike{}
	total, judged, controllers := 0, 0, map[string]bool{}
	for _, repeated := range [...]bool{false, true} {
		clear(controllers)
		err := c.objects.Each(ctx, "", "pods", namespace, func(pod document.Value) bool {
			if class := pod.At("spec", "runtimeClassName").Text(); class != "" && slices.Contains(c.config.Settings.PodSecurity.RuntimeClasses, class) {
				return true
			}
			if !repeated {
				total++
			}
			owner := controllerOf(pod)
			if again := owner != "" && controllers[owner]; again != repeated || judged == mostJudged || judged > 0 && time.Now().After(end) {
				controllers[owner] = true
				return true
			}
			controllers[owner] = true
			judged++
			if broken := podsecurity.Evaluate(rules, pod.Get("metadata"), pod.Get("spec")); broken != nil {
				name, a := pod.At("metadata", "name").Text(), found[broken.Reasons()]
				if a == nil {
					a = &alike{first: strings.Clone(name)}
					found[broken.Reasons()] = a
				}
				a.first = min(a.first, strings.Clone(name))
				a.n++
			}
			return true
		})
		if err != nil {
			return []string{"failed to list pods while checking new PodSecurity enforce level"}
		}
	}
	return alikeWarnings(found, namespace, rules, judged, total)
}

func alikeWarnings(found map[string]*alike, namespace string, rules podsecurity.Rules, judged, total int) (warnings []string) {
	if judged < total {
		warnings = append(warnings, fmt.Sprintf("new PodSecurity enforce level only checked against the first %d of %d existing pods", judged, total))
	}
	if len(found) == 0 {
		return warnings
	}
	warnings = append(warnings, fmt.Sprintf("existing pods in namespace %q violate the new PodSecurity enforce level %q", namespace, rules))
	var pods []string
	for reasons, a := range found {
		others := ""
		if a.n == 2 {
			others = " (and 1 other pod)"
		} else if a.n > 2 {
			others = " (and " + strconv.Itoa(a.n-1) + " other pods)"
		}
		pods = append(pods, a.first+others+": "+reasons)
	}
	slices.Sort(pods)
	return append(warnings, pods...)
}

// controllerOf is the uid of an object's controller, "" for none.
func controllerOf(obj document.Value) string {
	for _, o := range obj.At("metadata", "ownerReferences").Elements() {
		if o.Get("controller").Bool() {
			return strings.Clone(o.Get("uid").Text())
		}
	}
	return ""
}

func mistakeText(mistakes []podsecurity.Mistake) string {
	parts := make([]string, len(mistakes))
	for i, m := range mistakes {
		parts[i] = m.Field() + ": " + m.Message()
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// awaitsPods reports whether a write has to look at the pods of a namespace.
func awaitsPods(_ *Chain, o Operation, resource *api.Resource, subresource string) bool {
	return o == Update && subresource == "" && resource.Role == api.RoleNamespaces
}
