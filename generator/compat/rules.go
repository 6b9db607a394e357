package compat

import "slices"

// Level is the consequence of a finding for a release.
type Level string

// The levels, the gravest first.
const (
	Error   Level = "error"   // breaks clients; the release must not happen
	Warning Level = "warning" // a maintainer has to decide
	Note    Level = "note"    // to know
	Off     Level = "off"     // not reported
)

// Rule is one promise to clients.
type Rule struct {
	ID    string
	Level Level     // in stable and beta versions; in alpha versions errors are warnings
	Ways  Direction // a type that does not travel on one of them cannot break the promise
	Why   string
	Mend  string
}

// In which surroundings a rule can be broken.
const (
	anyWay   = Request | Response | Stored
	readOnly = Direction(0) // types that clients only read
)

const (
	newVersion = "take the change back, or make it in a new version of the group"
	keepBoth   = "keep the old one too, until a new version of the group"
	waitFor    = "release both first, then change over in the next release"
)

// Rules lists all promises.
func Rules() []Rule {
	return slices.Concat(versionRules(), resourceRules(), typeRules(), operatorRules())
}

// versionRules are the promises about versions, and their ends.
func versionRules() []Rule {
	return []Rule{
		{"profile-changed", Error, anyWay, "all groups, labels and media types that clients know would be others",
			"keep the words of the profile; another installation has a profile of its own"},
		{"group-version-removed", Error, anyWay, "requests to it would answer 404",
			"serve it until its announced end: beta 3 releases and 9 months after its deprecation, stable forever"},
		{"group-version-unlisted", Error, anyWay, "clients that ask discovery would not find it", "keep it listed"},
		{"resource-removed", Error, anyWay, "requests to it would answer 404", "serve it until its announced end, or leave it out of a new version only"},
		{"resource-ended", Warning, anyWay, "clients that did not hear the announcement break", "name the end in the notes of the release"},
		{"group-renamed", Error, anyWay, "its paths and apiVersion would change", "keep the name, and add a group"},
		{"preferred-version-advanced", Error, anyWay, "clients of the last release would be sent to a version that it does not have", waitFor},
		{"preferred-version-less-stable", Error, anyWay, "clients would prefer a version that may change", "give the stable version the highest versionPriority"},
		{"storage-version-advanced", Error, anyWay, "after a way back to the last release it could not read its objects", waitFor},
		{"storage-hash-changed", Warning, anyWay, "migrators would rewrite all objects for nothing", "keep storageVersionHash while the storage version stays"},
		{"deprecated-before-successor", Error, anyWay, "users would be warned with nowhere to go", waitFor},
		{"resource-replacement-unstable", Error, anyWay, "a version may not give way to a less stable one", "name a replacement that is as stable"},
		{"stable-end-date", Error, anyWay, "stable versions stay", "drop removedIn"},
		{"end-date-earlier", Error, anyWay, "users have planned with the announced time", "keep removedIn: 3 releases after the deprecation at the earliest"},
		{"beta-overdue", Warning, anyWay, "a beta version lives for 3 releases and 9 months before its deprecation, and as long after it",
			"deprecate it, or remove it"},
		{"round-trip-lost", Warning, anyWay, "objects lose the field when clients of the other version write them",
			"add the field to both versions, or let the convert hook keep it"},
		{"conversion-dropped", Error, anyWay, "what one version has and the other lacks would be dropped, where a webhook kept it",
			"keep the webhook until the versions are alike"},
		{VersionValues, Warning, anyWay, "a client of one version meets values that it can neither write nor keep", mendVersions},
	}
}

// resourceRules are the promises about resources.
func resourceRules() []Rule {
	return []Rule{
		{"resource-kind-changed", Error, anyWay, "clients would send and expect another kind", "keep the kind, and add a resource"},
		{"resource-scope-changed", Error, anyWay, "its paths would change", newVersion},
		{"resource-verb-removed", Error, anyWay, "requests would answer 405", "keep the verb"},
		{"resource-unstored", Error, anyWay, "its objects would be gone, or kept where they were not", newVersion},
		{"resource-name-format-changed", Error, anyWay, "names that were right would be refused", "keep the format, or choose one that allows more"},
		{"resource-name-taken", Error, anyWay, "the same words of people and scripts would mean another resource", "choose another name"},
		{"resource-short-name-removed", Warning, anyWay, "people and scripts type it", keepBoth},
		{"resource-category-removed", Warning, anyWay, "people and scripts type it", keepBoth},
		{"resource-field-label-removed", Error, anyWay, "field selectors that name it would be refused", "keep it, as an alias or with never: true"},
		{"resource-field-label-changed", Error, anyWay, "the same selector would find other objects", "add a field label of another name"},
		{"resource-column-removed", Warning, anyWay, "people look at it; programs should not", "keep it, perhaps with priority: 1"},
		{"resource-column-changed", Warning, anyWay, "people look at it; programs should not", "add a column of another name"},
		{"resource-update-conditional", Error, anyWay, "updates that name no version would be refused", newVersion},
		{"resource-dependents-changed", Error, anyWay, "the same delete would keep or take along what objects own", newVersion},
		{"resource-grace-changed", Error, anyWay, "the same delete would take another time", newVersion},
		{"resource-expiry-changed", Error, anyWay, "objects would vanish, or stay, against what clients count on", newVersion},
		{"resource-generation-changed", Error, anyWay, "controllers compare metadata.generation with what they have seen", newVersion},
		{"resource-delete-answer-changed", Error, anyWay, "clients would read another kind in the answer", newVersion},
		{"resource-status-split", Error, anyWay, "what clients write would be dropped without a word, or kept where it was not", newVersion},
		{"resource-error-group-changed", Error, anyWay, "programs find errors by kind and group", "keep errorGroup"},
		{"resource-keeps-changed", Error, anyWay, "the same update would write other fields", newVersion},
		{"resource-missing-changed", Warning, anyWay, "programs would get another error for the same mistake", "keep the answer"},
		{"resource-annotation-hidden", Warning, anyWay, "clients that read metadata alone would miss it", "keep it shown"},
		{"resource-hook-changed", Warning, anyWay, "the hook may set, keep or refuse values; its code shows whether it does",
			"read the hook; add the difference to the released documents or to the accepted findings"},
		{"resource-name-protected", Error, anyWay, "deletes of the object would be refused", newVersion},
		{"reference-refuses", Error, Request, "requests that name what is not there would be refused", "write onMissing: warn; a new field may refuse"},
		{"reference-cascades", Error, anyWay, "deletes that are done today would take along what stayed", "write onDelete: orphan; a new field may cascade"},
		{"reference-keeps", Warning, anyWay, "deletes would leave behind what went with the object; what was written before still goes, by its owner reference",
			"keep onDelete: cascade; or have all objects written anew without their owner references"},
		{"reference-restricts", Error, anyWay, "deletes that are done today would be refused", "write onDelete: orphan; a new field may restrict"},
		{"subresource-removed", Error, anyWay, "requests to it would answer 404", "keep the subresource"},
		{"subresource-verb-removed", Error, anyWay, "requests would answer 405", "keep the verb"},
		{"subresource-kind-changed", Error, anyWay, "clients would send and expect another kind", newVersion},
		{"subresource-version-removed", Error, anyWay, "requests with it would be refused", "keep it in alsoAccepts"},
		{"action-answer-changed", Error, anyWay, "clients would read another kind in the answer", newVersion},
		{"action-effect-changed", Error, anyWay, "clients would read a sequence of answers in place of one, or the other way round, or find nothing changed", newVersion},
		{"action-verb-changed", Error, anyWay, "roles that allow the action would do so no more", "keep the verb, or add another action"},
		{"action-writes", Error, anyWay, "users who may only look would change objects", newVersion},
		{"endpoint-changed", Error, anyWay, "the same request would do something else", newVersion},
		{"scale-path-changed", Error, anyWay, "autoscalers would read and write another field", newVersion},
	}
}

// typeRules are the promises about objects.
func typeRules() []Rule {
	return []Rule{
		{"type-removed", Error, anyWay, "requests with this kind would be refused", newVersion},
		{"type-renamed", Warning, anyWay, "generated Go and OpenAPI have the name: programs would not compile", "keep the name of the type"},
		{"field-removed", Error, anyWay, "values that clients send would be dropped, those that they read gone", newVersion},
		{"field-type-changed", Error, anyWay, "stored, sent or read values would not be understood", "give the new field another name"},
		{"field-required", Error, Request, "requests that leave it out would be refused", "give it a default, or leave it optional"},
		{"field-optional", Warning, Response, "clients that read it would not find it", "keep it required"},
		{"field-nullable", Warning, Response, "clients that read it would find null instead of a value", "leave it out instead, or keep the default"},
		{"field-rename-dropped", Error, anyWay, "objects lose the field when clients of the other version read or write them",
			"keep x-cluster-renamed-from while the other version has the field"},
		{"field-rename-by-hook", Warning, anyWay, "objects lose the field unless the conversion in Go renames it",
			"run the test of conversions, which shows whether it does"},
		{"field-presence-changed", Error, anyWay, "absence and zero would be different things in another way", "keep x-cluster-presence"},
		{"field-always-written", Warning, Response, "clients would find a zero value instead of none", "keep x-cluster-presence"},
		{"field-default-changed", Error, Request | Stored, "the same request would make another object", "keep the default; a new version may have another one"},
		{"field-gated", Warning, anyWay, "the field is dropped where the gate is turned off", "name the gate in the notes of the release"},
		{"field-gated-off", Error, Request, "what clients send would be dropped", "gate only new fields"},
		{"field-immutable", Error, updated, "updates that change it would be refused", newVersion},
		{"field-read-only", Error, Request, "what clients send would be dropped", newVersion},
		{"field-write-only", Error, Response, "clients that read it would not find it", newVersion},
		{"field-binary-number-changed", Error, anyWay, "binary clients would read one field as another", "write x-cluster-binary with the old number"},
		{"field-binary-number-reused", Error, anyWay, "old binary forms would be misread as the new field", "take a number that no field ever had"},
		{"field-binary-form-changed", Error, anyWay, "binary clients could not read it", "keep the form"},
		{"binary-number-released", Error, anyWay, "a later field could take it, and old binary forms would be misread",
			"list it under x-cluster-binary-reserved of the object"},
		{"enum-value-removed", Error, Request, "stored and sent values would be refused", "keep the value"},
		{"enum-value-added", Warning, readOnly, "clients that know the values read one that they do not know", "document that there may be more values"},
		{"enum-added", Error, Request, "values that were free would be refused", newVersion},
		{"bounds-tightened", Error, Request, "stored and sent values would be refused", "keep the bound, or warn with a hook"},
		{"pattern-changed", Error, Request, "stored and sent values may be refused", "allow all that was allowed"},
		{"rule-added", Error, Request, "objects that were taken would be refused", "warn with a hook, or let the rule be for new fields only"},
		{"validation-hook-added", Warning, Request, "the hook may refuse what was taken; its code shows whether it does",
			"read the hook; add the difference to the released documents or to the accepted findings"},
		{"default-hook-changed", Error, Request | Stored, "the same request would make another object", "fill in nothing new; a new version may"},
		{"list-semantics-changed", Error, anyWay, "merges and field ownership would change", newVersion},
		{"map-semantics-changed", Error, anyWay, "merges and field ownership would change", newVersion},
		{"patch-semantics-changed", Error, anyWay, "strategic merge patches would do something else", newVersion},
	}
}

// operatorRules are the promises about gates, metrics and flags.
func operatorRules() []Rule {
	return []Rule{
		{"gate-removed", Error, anyWay, "command lines that name the gate would fail",
			"deprecate it first; it stays 2 releases and 6 months after it became stable, 1 release and 3 months after the end of a beta feature"},
		{"gate-default-changed", Error, anyWay, "clusters would lose the feature with an upgrade", "keep the default; off is for alpha features"},
		{"gate-stage-lowered", Error, anyWay, "features only become more stable, until they are deprecated", "keep the stage, or deprecate the gate"},
		{"metric-removed", Error, anyWay, "dashboards and alerts are made of it", "deprecate it first; a stable metric stays 3 releases and 9 months after that"},
		{"metric-changed", Error, anyWay, "dashboards and alerts are made of its labels and type", "add a metric of another name"},
		{"flag-removed", Error, anyWay, "command lines that name the flag would fail",
			"deprecate it first; a flag for administrators stays 1 release and 6 months after that"},
		{"flag-default-changed", Warning, anyWay, "the same command line would do something else", "name it in the notes of the release"},
	}
}

// levels are the levels of rules, by ID.
type levels map[string]Rule

func newLevels(config *Config) levels {
	l := levels{}
	for _, r := range Rules() {
		if config != nil && config.Levels[r.ID] != "" {
			r.Level = config.Levels[r.ID]
		}
		l[r.ID] = r
	}
	return l
}

// of is the level of a rule for a use of a type. A type that travels in no direction of
// the rule keeps its promise.
func (l levels) of(id string, u use) Level {
	r := l[id]
	switch {
	case r.Ways == readOnly && u.ways&Request != 0:
		return Off
	case r.Ways != readOnly && r.Ways&u.ways == 0:
		return Off
	case r.Level == Error && u.stable == alpha:
		return Warning
	}
	return r.Level
}
