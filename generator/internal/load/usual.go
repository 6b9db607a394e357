package load

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"github.com/capstan-dev/capstan/internal/schema"
)

// usualMembers are the members of a kind that need not be described: a member of the root
// with one of these names and without a type gets the missing keys from here. The
// description is followed by the words of the kind.
var usualMembers = map[string]struct {
	ref         string // <Kind> stands for the name of the kind
	number      int
	description string
}{
	"metadata": {"/meta/v1/ObjectMeta", 1, "Name, labels and other identifying metadata of the "},
	"spec":     {"#/$defs/<Kind>Spec", 2, "Wanted state of the "},
	"status":   {"#/$defs/<Kind>Status", 3, "Latest observed state of the "},
}

// fillUsual describes the usual members of a kind as far as the document does not.
func fillUsual(root *schema.Schema, kind string) {
	for _, p := range root.Properties {
		usual, ok := usualMembers[p.Name]
		s := p.Schema
		if !ok || !describedLater(s) {
			continue
		}
		if root.AsSent && p.Name != "metadata" {
			s.Presence = cmp.Or(s.Presence, "explicit")
		}
		s.Ref = strings.Replace(usual.ref, "<Kind>", kind, 1)
		if s.Description == "" {
			s.Description = usual.description + kindWords(kind) + "."
		}
		if s.Binary == 0 {
			s.Binary = usual.number
		}
		if s.Presence == "" && !root.Publishes(p.Name) {
			s.Presence = "always"
		}
	}
}

// usualHash is the name by which clients know the storage version of a kind.
func usualHash(group, version, kind string) string {
	sum := sha256.Sum256([]byte(group + "/" + version + "/" + kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}
