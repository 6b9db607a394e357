package openapi

import "embed"

// Documents are the profile, the releases and the documents of the built-in group versions,
// <group>/<version>.yaml.
//
//go:embed profile.yaml releases.yaml */*.yaml
var Documents embed.FS
