package options

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// Warning is about flags of a command line.
type Warning struct {
	Flags []string // "--etcd-servers", sorted
	Text  string   // what is wrong with them
}

// Check finds flags in a parsed command line that do not what they say: those without
// effect here, so that the command line of a kube-apiserver works as far as possible, those
// that need another flag or that another one overrules, and deprecated ones. A program that
// parses the command line should log the warnings. The error names the flags that would
// leave something unprotected; a server must not be started with them.
func Check(fs *pflag.FlagSet) ([]Warning, error) {
	found, err := inertIn(fs)
	return slices.Concat(found, incomplete(fs), overruled(fs), emptied(fs), deprecatedIn(fs)), err
}

// details are flags that say how something is done which another flag turns on.
type details struct {
	flags string // names, with spaces between; one that ends with "*" stands for all that begin so
	needs string // the flag that turns it on
}

// detailed are all such flags whose mistakes no other check refuses. 1.25 says nothing of
// them.
var detailed = []details{
	{"authentication-token-webhook-cache-ttl authentication-token-webhook-version", "authentication-token-webhook-config-file"},
	{"authorization-webhook-cache-authorized-ttl authorization-webhook-cache-unauthorized-ttl authorization-webhook-version", "authorization-webhook-config-file"},
	{"oidc-*", "oidc-issuer-url"},
	{"requestheader-allowed-names requestheader-extra-headers-prefix requestheader-group-headers requestheader-username-headers", "requestheader-client-ca-file"},
	{"requestheader-allowed-names requestheader-client-ca-file requestheader-extra-headers-prefix requestheader-group-headers", "requestheader-username-headers"},
	{"audit-log-*", "audit-log-path"},
	{"etcd-* lease-reuse-duration-seconds storage-media-type consistent-authorization", "etcd-servers"},
	{"audit-webhook-*", "audit-webhook-config-file"},
}

// among reports whether a flag is one of names, as in details.
func among(names, flag string) bool {
	for name := range strings.FieldsSeq(names) {
		if beginning, all := strings.CutSuffix(name, "*"); name == flag || all && strings.HasPrefix(flag, beginning) {
			return true
		}
	}
	return false
}

// incomplete finds the flags without the flag that they need.
func incomplete(fs *pflag.FlagSet) (found []Warning) {
	for _, d := range detailed {
		if isSet(fs, d.needs) {
			continue
		}
		if names := given(fs, func(f *pflag.Flag) bool { return among(d.flags, f.Name) && f.Name != d.needs && isSet(fs, f.Name) }); names != nil {
			found = append(found, Warning{names, "these flags have no effect without --" + d.needs})
		}
	}
	return found
}

// isSet reports whether a flag has a value, on the command line or before.
func isSet(fs *pflag.FlagSet, name string) bool {
	f := fs.Lookup(name)
	return f != nil && f.Value.String() != "" && f.Value.String() != "[]"
}

// deprecatedFlags are flags that still have their effect, with the remedy.
var deprecatedFlags = map[string]string{
	"admission-control": "this flag is deprecated; name the plug-ins that differ from the defaults with --enable-admission-plugins and --disable-admission-plugins",
}

func deprecatedIn(fs *pflag.FlagSet) (found []Warning) {
	fs.Visit(func(f *pflag.Flag) {
		if text := deprecatedFlags[f.Name]; text != "" {
			found = append(found, Warning{[]string{"--" + f.Name}, text})
		}
	})
	return found
}
