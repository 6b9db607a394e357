// Package openapi holds the documents of the API. Programs that the generator is made of
// read the profile from here, since there is no generated code before it has run.
package openapi

import (
	_ "embed"
	"strings"
)

//go:embed profile.yaml
var profile string

// Word is the mediaTypeWord of the profile, which also begins the names of the types that
// expressions add to CEL. The generator refuses a profile without it.
func Word() string {
	for line := range strings.Lines(profile) {
		if word, ok := strings.CutPrefix(line, "mediaTypeWord:"); ok {
			return strings.Trim(word, " \"'\r\n")
		}
	}
	return ""
}
