package objects

import (
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

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

// restore gives the fields at the paths the values that they have in old; those that old
// lacks get their default.
func restore(obj, old document.Value, paths [][]string) {
	for _, path := range paths {
		last, in := len(path)-1, obj
		was := old.At(path...)
		for _, name := range path[:last] {
			if was.Exists() {
				in = in.SetObject(name)
			} else {
				in = in.Get(name)
			}
		}
		if was.Exists() {
			in.Put(path[last], was)
		} else if in.Exists() {
			in.Remove(path[last])
			in.Fill(path[last])
		}
	}
}

// warnOutdated warns the author of a write that has deprecated fields, in the version of
// the write.
func (e *Evaluation) warnOutdated() {
	if e.Row.Outdated == nil || e.Opts.Author == nil || e.Sub != nil {
		return
	}
	e.Row.Outdated.Each(e.obj, func(in document.Value, f *schema.Field) {
		if v := in.Get(f.Name); !v.IsNothing() && string(v.AppendJSON(nil)) != f.Default {
			e.warnings = append(e.warnings, v.Path()+": deprecated")
		}
	})
}
