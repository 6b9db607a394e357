package main

import (
	"cmp"
	"regexp"
	"strings"
)

var (
	message  = regexp.MustCompile(`^message (\w+) \{`)
	numbered = regexp.MustCompile(`^  (?:optional |repeated |required )?[\w.<>, ]+ (\w+) = (\d+);`)
)

// readNumbers finds the numbers of the fields of messages, by the type that is defined in a folder, as "core/v1.Pod".
func readNumbers(dir string, proto []byte, into map[string]map[string]string) {
	dir = strings.TrimPrefix(dir, "pkg/apis/")
	var fields map[string]string
	for line := range strings.Lines(string(proto)) {
		if m := message.FindStringSubmatch(line); m != nil {
			fields = map[string]string{}
			into[dir+"."+m[1]] = fields
		} else if m := numbered.FindStringSubmatch(line); m != nil && fields != nil {
			fields[m[1]] = m[2]
		}
	}
}

var (
	groupName = map[string]string{"core": "", "admissionregistration": "admissionregistration.k8s.io", "apiserverinternal": "internal.apiserver.k8s.io"}
	plain     = map[string]bool{"apps": true, "autoscaling": true, "batch": true, "extensions": true, "policy": true}
	method    = regexp.MustCompile(`(?s)func \(in \*(\w+)\) APILifecycle(\w+)\(\) [^{]*\{\s*return ([^\n]*)\n`)
	quoted    = regexp.MustCompile(`"([^"]*)"`)
)

// groupOf is the name of the group whose types are in a folder of k8s.io/api.
func groupOf(folder string) string {
	if name, ok := groupName[folder]; ok {
		return name
	}
	if plain[folder] {
		return folder
	}
	if folder == "rbac" {
		folder = "rbac.authorization"
	}
	if folder == "flowcontrol" {
		folder = "flowcontrol.apiserver"
	}
	return folder + ".k8s.io"
}

// readLifecycles finds when the kinds of a folder came, and when they are deprecated and go.
func readLifecycles(dir string, source []byte) (rows []string) {
	folder, version, _ := strings.Cut(strings.TrimPrefix(dir, "pkg/apis/"), "/")
	type life struct{ introduced, deprecated, removed, replacement string }
	all := map[string]*life{}
	for _, m := range method.FindAllStringSubmatch(string(source), -1) {
		l := all[m[1]]
		if l == nil {
			l = &life{}
			all[m[1]] = l
		}
		release := strings.ReplaceAll(m[3], ", ", ".")
		switch m[2] {
		case "Introduced":
			l.introduced = release
		case "Deprecated":
			l.deprecated = release
		case "Removed":
			l.removed = release
		case "Replacement":
			var parts []string
			for _, q := range quoted.FindAllStringSubmatch(m[3], -1) {
				parts = append(parts, q[1])
			}
			l.replacement = strings.Join(parts, "/")
		}
	}
	for kind, l := range all {
		rows = append(rows, strings.Join([]string{cmp.Or(groupOf(folder), "core"), version, kind,
			dash(l.introduced), dash(l.deprecated), dash(l.removed), dash(l.replacement)}, "\t"))
	}
	return rows
}

func dash(text string) string { return cmp.Or(text, "-") }

var (
	constant  = regexp.MustCompile(`(?m)^\s*(\w+)\s+featuregate\.Feature = "(\w+)"`)
	oneLine   = regexp.MustCompile(`^\s*(?:\w+\.)?(\w+):\s+\{(Default: .*)\}`)
	opens     = regexp.MustCompile(`^\s*(?:\w+\.)?(\w+):\s+(?:featuregate\.VersionedSpecs)?\{\s*$`)
	ofVersion = regexp.MustCompile(`^\s*\{Version: [^,]*, (.*)\}`)
)

// readGateNames finds the names of the feature gates of a file of Go, by their constants.
func readGateNames(source []byte, into map[string]string) {
	for _, m := range constant.FindAllStringSubmatch(string(source), -1) {
		into[m[1]] = m[2]
	}
}

// readGates finds the feature gates of a file of Go, as they are in its own release: the last of the specs
// that follow versions.
func readGates(source []byte, name, into map[string]string) {
	gate := ""
	for line := range strings.Lines(string(source)) {
		if m := oneLine.FindStringSubmatch(line); m != nil {
			into[cmp.Or(name[m[1]], m[1])] = gateRow(m[2])
		} else if m := opens.FindStringSubmatch(line); m != nil {
			gate = cmp.Or(name[m[1]], m[1])
		} else if m := ofVersion.FindStringSubmatch(line); m != nil && gate != "" {
			into[gate] = gateRow(m[1])
		}
	}
}

// onByDefault matches a spec that turns its gate on. LockToDefault is another word.
var onByDefault = regexp.MustCompile(`\bDefault: true`)

var stages = map[string]string{"Alpha": "alpha", "Beta": "beta", "GA": "stable", "Deprecated": "deprecated"}

// gateRow makes the columns of a gate of its spec.
func gateRow(spec string) string {
	stage := "alpha" // a spec without one is of an alpha feature
	if _, after, ok := strings.Cut(spec, "PreRelease: "); ok {
		word, _, _ := strings.Cut(strings.TrimPrefix(after, "featuregate."), ",")
		stage = cmp.Or(stages[strings.Trim(word, " }")], word)
	}
	return strings.Join([]string{stage, yes(onByDefault.MatchString(spec)), yes(strings.Contains(spec, "LockToDefault: true"))}, "\t")
}

func yes(is bool) string {
	if is {
		return "y"
	}
	return "n"
}
