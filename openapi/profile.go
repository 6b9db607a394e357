// Package openapi holds the documents of the API. What the generator is made of, the client
// too, reads the profile from here, since there is no generated code before it has run.
package openapi

import (
	_ "embed"
	"strings"
)

//go:embed profile.yaml
var profile string

// Word is the mediaTypeWord of the profile, which also begins the names of the types that
// expressions add to CEL.
func Word() string { return name("mediaTypeWord:") }

// GroupSuffix ends the names of the groups that are not for applications.
func GroupSuffix() string { return name("groupSuffix:") }

// LabelDomain begins the well-known labels and annotations.
func LabelDomain() string { return name("labelDomain:") }

// name is a name of the profile. The generator refuses a profile without one.
func name(key string) string {
	for line := range strings.Lines(profile) {
		if word, ok := strings.CutPrefix(line, key); ok {
			return strings.Trim(word, " \"'\r\n")
		}
	}
	return ""
}
