package action

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// merged is a stored object with the changes from before to after, both of which are what a type of Go keeps of
// it: explicit zeros and members that the type does not know stay as they are stored.
func merged(stored, before, after []byte) ([]byte, error) {
	trees := [3]any{}
	for i, text := range [][]byte{stored, before, after} {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		if err := d.Decode(&trees[i]); err != nil {
			return nil, err
		}
	}
	return json.Marshal(merge(trees[0], trees[1], trees[2]))
}

func merge(stored, before, after any) any {
	if reflect.DeepEqual(before, after) {
		return stored
	}
	into, ok := stored.(map[string]any)
	was, wasObject := before.(map[string]any)
	is, isObject := after.(map[string]any)
	if !ok || !wasObject || !isObject {
		return after
	}
	for name, old := range was {
		if now, still := is[name]; !still {
			delete(into, name)
		} else if kept, there := into[name]; there || !reflect.DeepEqual(old, now) {
			into[name] = merge(kept, old, now)
		}
	}
	for name, now := range is {
		if _, had := was[name]; !had {
			into[name] = now
		}
	}
	return into
}
