package options

import (
	"slices"

	"github.com/spf13/pflag"
)

// rule names flags that the value of another flag makes ineffective, or its absence.
type rule struct {
	flags      string // as in details
	with       bool   // without effect with the value; without effect else
	by, value  string // the other flag
	onlyBeside string // the rule counts when this flag is set; "" for always
}

// rules are those of pairs of flags. 1.25 says nothing of them.
var rules = []rule{
	{flags: "audit-log-batch-*", by: "audit-log-mode", value: "batch", onlyBeside: "audit-log-path"},
	{flags: "audit-webhook-batch-*", by: "audit-webhook-mode", value: "batch", onlyBeside: "audit-webhook-config-file"},
	{flags: "audit-log-truncate-max-*", by: "audit-log-truncate-enabled", value: "true", onlyBeside: "audit-log-path"},
	{flags: "audit-webhook-truncate-max-*", by: "audit-webhook-truncate-enabled", value: "true", onlyBeside: "audit-webhook-config-file"},
	{flags: "audit-log-compress audit-log-maxage audit-log-maxbackup audit-log-maxsize", with: true, by: "audit-log-path", value: "-"},
	{flags: "default-not-ready-toleration-seconds default-unreachable-toleration-seconds", with: true, by: "disable-admission-plugins",
		value: "DefaultTolerationSeconds"},
	{flags: "tls-cipher-suites", with: true, by: "tls-min-version", value: "VersionTLS13"},
	{flags: "data-dir etcd-* storage-media-type", with: true, by: "in-memory", value: "true"},
}

// overruled finds the flags that are without effect, since others overrule them.
func overruled(fs *pflag.FlagSet) (found []Warning) {
	for _, r := range rules {
		if has(fs, r.by, r.value) != r.with || r.onlyBeside != "" && !isSet(fs, r.onlyBeside) {
			continue
		}
		word := "without"
		if r.with {
			word = "with"
		}
		if names := given(fs, func(f *pflag.Flag) bool { return among(r.flags, f.Name) && isSet(fs, f.Name) }); names != nil {
			found = append(found, Warning{names, "these flags have no effect " + word + " --" + r.by + "=" + r.value})
		}
	}
	if has(fs, "anonymous-auth", "true") && fs.Changed("anonymous-auth") && has(fs, "authorization-mode", "AlwaysAllow") {
		found = append(found, Warning{[]string{"--anonymous-auth"},
			"requests without credentials are refused all the same, since the authorization mode AlwaysAllow would let them do everything; use another mode"})
	}
	return found
}

// emptied finds the flags whose default counts in spite of an empty value.
func emptied(fs *pflag.FlagSet) (found []Warning) {
	names := given(fs, func(f *pflag.Flag) bool { return !isSet(fs, f.Name) && f.DefValue != "" && f.DefValue != "[]" })
	if names != nil {
		found = append(found, Warning{names, "these flags have no value, and count as if they were left out"})
	}
	return found
}

// given are the flags of a command line that a function accepts.
func given(fs *pflag.FlagSet, accept func(*pflag.Flag) bool) (names []string) {
	fs.Visit(func(f *pflag.Flag) {
		if accept(f) {
			names = append(names, "--"+f.Name)
		}
	})
	return names
}

// has reports whether a flag has a value, in a list or alone.
func has(fs *pflag.FlagSet, name, value string) bool {
	if list, err := fs.GetStringSlice(name); err == nil {
		return slices.Contains(list, value)
	}
	f := fs.Lookup(name)
	return f != nil && f.Value.String() == value
}
