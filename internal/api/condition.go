package api

import "github.com/capstan-dev/capstan/internal/document"

// Condition is an entry of the conditions in a status.
type Condition struct{ Type, Status, Reason, Message string }

// Set sets the condition in a list, replacing the one of its type, and returns it. Its
// transition time is the last change of the status. An empty reason or message is
// removed.
func (c Condition) Set(list document.Value, now string) document.Value {
	entry := list.ElementBy("type", c.Type)
	if !entry.Exists() {
		entry = list.AppendObject()
		entry.SetString("type", c.Type)
	}
	if !entry.Get("status").Equals(c.Status) {
		entry.SetString("status", c.Status)
		entry.SetString("lastTransitionTime", now)
	}
	for _, t := range [...]struct{ name, text string }{{"reason", c.Reason}, {"message", c.Message}} {
		if t.text == "" {
			entry.Remove(t.name)
		} else {
			entry.SetString(t.name, t.text)
		}
	}
	return entry
}
