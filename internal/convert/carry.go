package convert

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// Annotation holds the fields that a version of an object lacks, for the versions that have
// them: a JSON object of values by api.Carried.Key. So an object that is read in one
// version and written in the same one keeps the fields of the others.
const Annotation = "conversion." + profile.LabelDomain + "/fields"

// carry takes the fields that only one of two versions has out of the annotation, or puts
// them there. Those of further versions stay.
func carry(p *api.Plan, from, to document.Value) {
	annotations := to.At("metadata", "annotations")
	carried := map[string]json.RawMessage{}
	if text := annotations.Get(Annotation).Text(); text != "" && json.Unmarshal([]byte(text), &carried) != nil {
		carried = map[string]json.RawMessage{} // an annotation of somebody else
	}
	for _, f := range p.Restore {
		if text, has := carried[f.Key]; has && string(text) != "null" {
			in := to
			for _, name := range f.Path[:len(f.Path)-1] {
				in = in.SetObject(name)
			}
			_ = in.SetRaw(f.Path[len(f.Path)-1], text) // one that does not fit is left out
		}
		delete(carried, f.Key)
	}
	for _, f := range p.Carry {
		if v := from.At(f.Path...); v.Exists() && !v.IsNull() {
			carried[f.Key] = v.AppendJSON(nil)
		} else {
			delete(carried, f.Key)
		}
	}
	if len(carried) > 0 {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		_ = e.Encode(carried) // texts that are JSON
		to.SetObject("metadata").SetObject("annotations").SetString(Annotation, strings.TrimSuffix(b.String(), "\n"))
	} else if annotations.Get(Annotation).Exists() {
		annotations.Remove(Annotation)
		to.Get("metadata").DropZeros()
	}
}

// ServedPath is the path of a field in the version of res, for the path in a cause about
// the storage version.
func ServedPath(res *api.Resource, path string) string {
	if res.Conversion == nil {
		return path
	}
	for _, f := range res.Conversion.FromStorage.Carry {
		if at := strings.Join(f.Path, "."); path == at || strings.HasPrefix(path, at+".") || strings.HasPrefix(path, at+"[") {
			return "metadata.annotations[" + Annotation + "]"
		}
	}
	return servedPath(res.Conversion.FromStorage.Copy, path)
}

func servedPath(fields []api.Copy, path string) string {
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		end = len(path)
	}
	for i := range fields {
		f := &fields[i]
		if cmp.Or(f.From, f.Name) != path[:end] {
			continue
		}
		rest := path[end:]
		head := f.Name
		if f.Each && strings.HasPrefix(rest, "[") {
			if close := strings.IndexByte(rest, ']'); close > 0 {
				head, rest = head+rest[:close+1], rest[close+1:]
			}
		}
		if below, ok := strings.CutPrefix(rest, "."); ok && f.Below != nil {
			return head + "." + servedPath(f.Below, below)
		}
		return head + rest
	}
	return path
}
