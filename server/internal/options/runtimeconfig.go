package options

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// The group versions and resources that are served are decided at the start, by
// --runtime-config. From the weakest to the strongest:
//
//	alpha versions, and beta versions from 1.24 on, are off; all others are on, some of them not in discovery
//	api/all, api/ga, api/beta, api/alpha    versions of a stability
//	<group>/<version>, v1                   one version, with all its resources
//	<group>/<version>/<resource>            one resource, also of a version that is off
//
// Resources that are off stay in the catalog, because objects of another version may be
// stored as theirs.

// stabilities are the keys for many versions, in the order of precedence, with the word
// in the names of their versions.
var stabilities = []struct {
	key string
	has func(version string) bool
}{
	{"api/all", func(string) bool { return true }},
	{"api/ga", func(v string) bool { return !strings.Contains(v, "alpha") && !strings.Contains(v, "beta") }},
	{"api/beta", func(v string) bool { return strings.Contains(v, "beta") }},
	{"api/alpha", func(v string) bool { return strings.Contains(v, "alpha") }},
}

// retired are the versions that 1.25 knows and does not serve. Their keys have no effect,
// so that a command line of a former release is not refused. A star stands for the suffix
// of the groups.
var retired = strings.Fields(`admission.*/v1 admission.*/v1beta1 admissionregistration.*/v1beta1 apiextensions.*/v1beta1 apiregistration.*/v1beta1
	apps/v1beta1 apps/v1beta2 authorization.*/v1beta1 autoscaling/v2beta1 batch/v1beta1 certificates.*/v1beta1
	coordination.*/v1beta1 discovery.*/v1beta1 events.*/v1beta1 extensions/v1beta1 flowcontrol.apiserver.*/v1alpha1 imagepolicy.*/v1alpha1
	networking.*/v1beta1 node.*/v1alpha1 node.*/v1beta1 policy/v1beta1 rbac.authorization.*/v1alpha1 rbac.authorization.*/v1beta1
	scheduling.*/v1alpha1 scheduling.*/v1beta1 storage.*/v1alpha1`)

// RuntimeConfig is the value of --runtime-config: its keys with their settings.
type RuntimeConfig map[string]bool

// ParseRuntimeConfig reads <key>[=<value>] pairs; a later one of a key wins. Unknown keys
// are an error.
func ParseRuntimeConfig(pairs []string, groups []*api.GroupVersion) (RuntimeConfig, error) {
	c := RuntimeConfig{}
	var errs []error
	for _, pair := range pairs {
		key, value, given := strings.Cut(strings.TrimSpace(pair), "=")
		on, err := strconv.ParseBool(value)
		if !given || value == "" {
			on, err = true, nil
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("--runtime-config %s: %q is neither true nor false", pair, value))
			continue
		}
		if key == "api/v1" {
			key = "v1"
		}
		if why := unknownKey(key, groups); why != "" {
			errs = append(errs, fmt.Errorf("--runtime-config %s: %s", pair, why))
			continue
		}
		c[key] = on
	}
	if on, set := c["api/all"]; set && !on && len(c) == 1 {
		errs = append(errs, errors.New("--runtime-config api/all=false alone would leave nothing to serve: turn something on, for example v1=true"))
	}
	return c, errors.Join(errs...)
}

// unknownKey explains why a key is unknown, "" for a known one.
func unknownKey(key string, groups []*api.GroupVersion) string {
	for _, s := range stabilities {
		if key == s.key {
			return ""
		}
	}
	parts := strings.Split(key, "/")
	if parts[0] == "v1" {
		parts = append([]string{""}, parts...)
	}
	if len(parts) < 2 || len(parts) > 3 || key != strings.ToLower(key) {
		return "write a group version (batch/v1, v1), a resource of one (batch/v1/jobs), api/all, api/ga, api/beta or api/alpha"
	}
	if gv := strings.Join(parts[:2], "/"); slices.Contains(retired, strings.Replace(gv, "."+profile.GroupSuffix+"/", ".*/", 1)) {
		return ""
	}
	known := false
	for _, gv := range groups {
		if gv.Group != parts[0] {
			continue
		}
		known = true
		if gv.Version != parts[1] {
			continue
		}
		if len(parts) == 2 || slices.ContainsFunc(gv.Resources, func(r api.Resource) bool { return r.Plural == parts[2] }) {
			return ""
		}
		return "the group version " + gv.APIVersion() + " has no resource " + parts[2]
	}
	if known {
		return "the group " + parts[0] + " has no version " + parts[1]
	}
	return "unknown api groups " + parts[0]
}

// EveryServer has the settings of built-in groups in a server of other groups: there are
// namespaces, roles, and reviews of access and tokens.
var EveryServer = RuntimeConfig{"api/all": false, "v1/namespaces": true, "rbac.authorization." + profile.GroupSuffix + "/v1": true,
	"authorization." + profile.GroupSuffix + "/v1": true, "authentication." + profile.GroupSuffix + "/v1": true}

// Apply decides for every resource whether it is served. Settings of base hold where c has
// none that is about the resource.
func (c RuntimeConfig) Apply(groups []*api.GroupVersion, base RuntimeConfig) {
	for _, gv := range groups {
		for i := range gv.Resources {
			res := &gv.Resources[i]
			res.Off = gv.Off
			for _, settings := range []RuntimeConfig{base, c} {
				if on, set := settings.of(gv, res.Plural); set {
					res.Off = !on
				}
			}
		}
		if _, set := c.of(gv, ""); set {
			gv.Unlisted = false
		}
	}
}

// of is the strongest setting about a resource, or about its group version for "".
func (c RuntimeConfig) of(gv *api.GroupVersion, plural string) (on, set bool) {
	for _, s := range stabilities {
		if v, ok := c[s.key]; ok && s.has(gv.Version) {
			on, set = v, true
		}
	}
	for _, key := range [...]string{gv.APIVersion(), gv.APIVersion() + "/" + plural} {
		if v, ok := c[key]; ok {
			on, set = v, true
		}
	}
	return on, set
}

// DropFutureDeprecations removes deprecations that begin in a later release of the documents than the one that is served, none
// where the documents have no releases ("").
func DropFutureDeprecations(groups []*api.GroupVersion, release string) {
	drop := func(d **api.Deprecation) {
		if *d != nil && release != "" && api.CompareReleases((*d).Since, release) > 0 {
			*d = nil
		}
	}
	for _, gv := range groups {
		for i := range gv.Resources {
			res := &gv.Resources[i]
			drop(&res.Deprecated)
			for j := range res.Subresources {
				if action := res.Subresources[j].Action; action != nil {
					drop(&action.Deprecated)
				}
			}
		}
	}
}

// HideStorageHashes removes the hashes of storage versions from discovery.
func HideStorageHashes(groups []*api.GroupVersion) {
	for _, gv := range groups {
		for i := range gv.Resources {
			gv.Resources[i].StorageVersionHash = ""
		}
	}
}

// minorOf is the number after the dot of a release: 25 of "1.25".
func minorOf(release string) int {
	_, minor, _ := strings.Cut(release, ".")
	n, _ := strconv.Atoi(minor) // text that is not a number counts as the oldest
	return n
}
