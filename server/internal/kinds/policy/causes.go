package policy

import (
	"strconv"

	"github.com/capstan-dev/capstan/internal/document"
)

// causes gathers the causes of an object.
type causes struct{ document.Causes }

// member is the path of a member, which may be missing.
func member(v document.Value, names ...string) string {
	path := v.Path()
	for _, name := range names {
		if path != "" {
			path += "."
		}
		path += name
	}
	return path
}

// element is the path of an element of a list.
func element(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

// key is the path of an entry of a map.
func key(v document.Value, name string) string { return v.Path() + "[" + name + "]" }
