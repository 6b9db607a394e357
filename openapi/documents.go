package openapi

import "embed"

// Documents are the profile and the documents of the built-in group versions,
// <group>/<version>.yaml.
//
//go:embed profile.yaml */*.yaml
var Documents embed.FS
