package objects

import "github.com/capstan-dev/capstan/internal/document"

// describing are the members of metadata that clients write.
var describing = [...]string{"labels", "annotations", "finalizers", "ownerReferences"}

// keep restores in obj the values of old at the paths that an endpoint keeps. For
// metadata as a whole those are the members that clients write.
func keep(obj, old document.Value, paths [][]string) {
	for _, path := range paths {
		if len(path) == 1 && path[0] == "metadata" {
			for _, name := range describing {
				keepMember(obj.Get("metadata"), old.Get("metadata"), name)
			}
			continue
		}
		last := len(path) - 1
		keepMember(obj.At(path[:last]...), old.At(path[:last]...), path[last])
	}
}

func keepMember(obj, old document.Value, name string) {
	if obj.Get(name).Exists() || old.Get(name).Exists() {
		obj.Put(name, old.Get(name))
	}
}
