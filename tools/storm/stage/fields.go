package stage

import (
	"encoding/json"
	"slices"
)

// fields are the paths of what the body of an apply sets, in the form of managed fields. It
// has no lists.
func fields(body any) []string {
	text, is := body.([]byte)
	if !is {
		text, _ = json.Marshal(body) // of maps and texts
	}
	var content map[string]any
	if json.Unmarshal(text, &content) != nil {
		return nil
	}
	delete(content, "apiVersion")
	delete(content, "kind")
	if m, is := content["metadata"].(map[string]any); is {
		delete(m, "name")
		delete(m, "namespace")
	}
	all := leaves("", content)
	slices.Sort(all)
	return all
}

func leaves(path string, of map[string]any) (all []string) {
	for name, value := range of {
		at := path + "/f:" + name
		if inner, is := value.(map[string]any); is {
			all = append(all, leaves(at, inner)...)
		} else {
			all = append(all, at)
		}
	}
	return all
}
