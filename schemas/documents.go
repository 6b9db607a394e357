// Package schemas holds the schemas of the built-in kinds, for documents of other modules
// that refer to them.
package schemas

import "embed"

// Documents are the files, <group>/<version>/<Type>.yaml.
//
//go:embed */*/*.yaml
var Documents embed.FS
