package objects

import (
	"slices"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/internal/signing"
)

// Certificate signing requests are decided in their approval and signed in their status.
// Both endpoints write the status; admission plug-ins check the permissions.

// stampRequester writes the author of a new request into it, whatever the body has.
func stampRequester(spec document.Value, user *authn.User) {
	for _, field := range [...]string{"username", "uid", "groups", "extra"} {
		spec.Remove(field)
	}
	if user == nil {
		return
	}
	if user.Name != "" {
		spec.SetString("username", user.Name)
	}
	if user.UID != "" {
		spec.SetString("uid", user.UID)
	}
	appendAll(spec, "groups", user.Groups)
	keys := make([]string, 0, len(user.Extra))
	for key := range user.Extra {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		appendAll(spec.SetObject("extra"), key, user.Extra[key])
	}
}

func appendAll(v document.Value, name string, list []string) {
	for _, s := range list {
		v.SetArray(name).AppendString(s)
	}
}

// prepareSigning limits a write of a request's status to the fields of its endpoint, and
// returns the forbidden changes.
func prepareSigning(endpoint api.Endpoint, obj, old document.Value, now string) (causes []schema.Cause) {
	status, before := obj.SetObject("status"), old.Get("status")
	conditions := status.Get("conditions")
	if endpoint == api.EndpointApproval {
		// The approval decides on conditions only.
		var others []string
		for name := range status.Members() {
			if name != "conditions" && !before.Get(name).Exists() {
				others = append(others, name)
			}
		}
		for _, name := range others {
			status.Remove(name)
		}
		for name, v := range before.Members() {
			if name != "conditions" {
				status.Put(name, v)
			}
		}
		conditions = status.Get("conditions")
	} else {
		for _, decision := range [...]string{"Approved", "Denied"} {
			if signing.Has(conditions, decision) && !signing.Has(before.Get("conditions"), decision) {
				causes = append(causes, schema.Cause{Reason: schema.CauseForbidden, Field: "status.conditions",
					Message: "Forbidden: updates may not add a condition of type \"" + decision + "\"; use the approval subresource"})
			}
			keepDecision(conditions, before.Get("conditions"), decision)
		}
	}
	for _, c := range conditions.Elements() {
		if isZero(c.Get("lastUpdateTime")) {
			c.SetString("lastUpdateTime", now)
		}
		if isZero(c.Get("lastTransitionTime")) {
			c.SetString("lastTransitionTime", transition(c, before.Get("conditions"), now))
		}
	}
	return causes
}

// keepDecision restores a decision as it was made.
func keepDecision(conditions, before document.Value, decision string) {
	for _, was := range before.Elements() {
		if !was.Get("type").Equals(decision) {
			continue
		}
		for _, is := range conditions.Elements() {
			if !is.Get("type").Equals(decision) {
				continue
			}
			for _, name := range [...]string{"status", "reason", "message", "lastUpdateTime", "lastTransitionTime"} {
				if v := was.Get(name); v.Exists() {
					is.Put(name, v)
				} else {
					is.Remove(name)
				}
			}
		}
	}
}

// isZero reports whether a text or a time is empty.
func isZero(v document.Value) bool { return !v.Exists() || v.IsNull() || v.Equals("") }

// transition is the transition time of the condition c: that of an equal earlier one, or
// now.
func transition(c, before document.Value, now string) string {
	for _, b := range before.Elements() {
		if b.Get("type").Equals(c.Get("type").Text()) && b.Get("status").Equals(c.Get("status").Text()) && !isZero(b.Get("lastTransitionTime")) {
			return b.Get("lastTransitionTime").Text()
		}
	}
	return now
}
