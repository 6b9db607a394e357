package compat

// Level is the consequence of a finding for a release.
type Level string

// The levels.
const (
	Error   Level = "error"   // breaks clients; the release must not happen
	Warning Level = "warning" // a maintainer has to decide
)

// Rule is one promise to clients.
type Rule struct {
	ID    string
	Level Level
	Why   string
}

// Rules are all promises. In an alpha version, and where a beta version was
// deprecated in the last release, errors are warnings (see levelOf).
var Rules = []Rule{
	{"group-version-removed", Error, "requests to it would answer 404"},
	{"group-renamed", Error, "its paths and apiVersion would change"},
	{"preferred-version-advanced", Error, "the preferred version may only move to one that the last release served too"},
	{"storage-version-advanced", Error, "the storage version may only move to one that the last release could read"},
	{"resource-removed", Error, "requests to it would answer 404"},
	{"resource-kind-changed", Error, "clients would send and expect another kind"},
	{"resource-scope-changed", Error, "its paths would change"},
	{"resource-verb-removed", Error, "requests would answer 405"},
	{"resource-unstored", Error, "its objects would be gone"},
	{"resource-name-format-changed", Error, "stored names may be invalid under the new rule"},
	{"resource-short-name-removed", Warning, "people and scripts type it"},
	{"resource-field-label-removed", Error, "field selectors that name it would be refused"},
	{"resource-column-removed", Warning, "people look at it; programs should not"},
	{"resource-replacement-unstable", Error, "a version may not give way to a less stable one"},
	{"resource-update-conditional", Error, "updates that name no version would be refused"},
	{"resource-dependents-changed", Error, "the same delete would keep or take along what objects own"},
	{"resource-grace-changed", Error, "the same delete would take another time"},
	{"resource-name-protected", Error, "deletes of the object would be refused"},
	{"subresource-removed", Error, "requests to it would answer 404"},
	{"subresource-verb-removed", Error, "requests would answer 405"},
	{"subresource-kind-changed", Error, "clients would send and expect another kind"},
	{"subresource-version-removed", Error, "requests with it would be refused"},
	{"endpoint-changed", Error, "the same request would do something else"},
	{"scale-path-changed", Error, "autoscalers would read and write another field"},
	{"type-removed", Error, "requests with this kind would be refused"},
	{"field-removed", Error, "what clients send would be dropped, what they read would be gone"},
	{"field-type-changed", Error, "stored and sent values would not be read"},
	{"field-required", Error, "requests that leave it out would be refused"},
	{"field-presence-changed", Error, "absence and zero would be told apart differently"},
	{"field-default-changed", Error, "the same request would mean something else"},
	{"field-gated", Warning, "what clients send would be dropped where the gate is off"},
	{"field-immutable", Error, "updates that change it would be refused"},
	{"field-binary-number-changed", Error, "stored and sent binary forms would be misread"},
	{"field-binary-number-reused", Error, "old binary forms would be misread as the new field"},
	{"enum-value-removed", Error, "stored and sent values would be refused"},
	{"enum-added", Error, "values that were free would be refused"},
	{"bounds-tightened", Error, "stored and sent values would be refused"},
	{"pattern-changed", Error, "stored and sent values may be refused"},
	{"rule-added", Error, "objects that were taken would be refused"},
	{"list-semantics-changed", Error, "merges and field ownership would change"},
	{"map-semantics-changed", Error, "field ownership would change"},
	{"patch-semantics-changed", Error, "strategic merge patches would do something else"},
}

// levelOf is the level of a rule in a place. Alpha versions may change at any time, beta
// versions may go after their deprecation was in a release, stable ones may not change.
func levelOf(id string, s scope) Level {
	for _, r := range Rules {
		if r.ID == id {
			if s.stability == "alpha" || s.stability == "beta" && s.deprecated {
				return Warning
			}
			return r.Level
		}
	}
	return Error
}
