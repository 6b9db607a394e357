package apply

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
)

// Operations of an entry.
const (
	opApply  = "Apply"
	opUpdate = "Update"
)

// identity distinguishes the entries of metadata.managedFields. Entries of operation
// Apply with the same manager and subresource are one, whatever their version.
type identity struct {
	Manager     string `json:"manager,omitempty"`
	Operation   string `json:"operation,omitempty"`
	APIVersion  string `json:"apiVersion,omitempty"` // "" for Apply
	Subresource string `json:"subresource,omitempty"`
}

// String is the sort key of conflicts.
func (id identity) String() string {
	text, err := json.Marshal(id)
	if err != nil {
		return id.Manager
	}
	return string(text)
}

// shown is the manager in messages.
func (id identity) shown() string {
	text := strconv.Quote(id.Manager)
	if id.Subresource != "" {
		text += " with subresource " + strconv.Quote(id.Subresource)
	}
	if id.Operation == opUpdate {
		text += " using " + id.APIVersion
	}
	return text
}

// entry is one record of metadata.managedFields. Most writes concern few of them, so the
// set is read on demand.
//
// Invariant: the owned fields are set if known, otherwise fresh if that is not nil,
// otherwise those in stored; without changed, stored is the text to write.
type entry struct {
	id      identity
	version string         // of the fields
	time    string         // RFC 3339; "" for none
	stored  document.Value // the entry as it was read, absent for a new one
	fresh   []byte         // a fieldsV1 object that replaces the stored one
	set     Set
	known   bool // set holds the owned fields
	changed bool // the entry has to be written anew
	owns    bool // the set has to be written anew
}

// fields is the fieldsV1 object as it was read.
func (e *entry) fields() document.Value { return e.stored.Get("fieldsV1") }

// owned reads the set. An unreadable set owns nothing; entries of clients are checked
// before.
func (e *entry) owned() Set {
	if e.known {
		return e.set
	}
	fields := e.fields()
	if e.fresh != nil {
		if doc, err := decoded(e.fresh); err == nil {
			defer doc.Release()
			fields = doc.Root()
		}
	}
	e.set, _ = ReadSet(fields)
	e.known = true
	return e.set
}

// hasFields reports whether the entry was read with that fieldsV1 object.
func (e *entry) hasFields(fields []byte) bool {
	if e.known || e.fresh != nil || !e.stored.Exists() {
		return false
	}
	var space [1024]byte
	return bytes.Equal(e.fields().AppendJSON(space[:0]), fields)
}

// ownFields replaces the set by a fieldsV1 object in canonical form.
func (e *entry) ownFields(text []byte) {
	e.changed, e.owns = true, true
	e.fresh, e.set, e.known = text, Set{}, false
}

// own replaces the set.
func (e *entry) own(s Set) {
	if !e.known || !s.Equal(e.set) {
		e.changed, e.owns = true, true
	}
	e.set, e.known = s, true
}

func (e *entry) empty() bool {
	switch {
	case e.known:
		return e.set.Empty()
	case e.fresh != nil:
		return len(e.fresh) <= len("{}")
	}
	return e.fields().IsEmpty()
}

// ledger is metadata.managedFields.
type ledger []*entry

// CheckOwners refuses a list of entries that no server can have written, in the words of
// 1.25.
func CheckOwners(list document.Value) error {
	_, err := readLedger(list, true)
	return err
}

// readLedger reads entries without their sets. With check it reads those too, and returns
// an error for an entry that no server can have written.
func readLedger(list document.Value, check bool) (ledger, error) {
	if list.Len() == 0 {
		return nil, nil
	}
	out := make(ledger, 0, list.Len()+1)
	all := make([]entry, list.Len())
	var seen map[identity]*entry // for more than a few
	if len(all) > few {
		seen = make(map[identity]*entry, len(all))
	}
	for i, v := range list.Elements() {
		e := &all[i]
		*e = entry{
			id:      identity{v.Get("manager").Text(), v.Get("operation").Text(), v.Get("apiVersion").Text(), v.Get("subresource").Text()},
			version: v.Get("apiVersion").Text(), time: v.Get("time").Text(), stored: v}
		switch {
		case e.id.Operation != opApply && e.id.Operation != opUpdate:
			return nil, errors.New("operation must be `Apply` or `Update`")
		case e.version == "":
			return nil, errors.New("apiVersion must not be empty")
		case v.Get("fieldsType").Text() == "":
			return nil, fmt.Errorf("missing fieldsType in managed fields entry %d", i)
		case !v.Get("fieldsType").Equals("FieldsV1"):
			return nil, fmt.Errorf("invalid fieldsType %q in managed fields entry %d", v.Get("fieldsType").Text(), i)
		}
		if e.id.Operation == opApply {
			e.id.APIVersion = ""
		}
		if check {
			set, err := ReadSet(e.fields())
			if err != nil {
				return nil, fmt.Errorf("error decoding set: %w", err)
			}
			e.set, e.known, e.changed = set, true, true
		}
		old := seen[e.id]
		if seen == nil {
			old = out.find(e.id)
		}
		if old != nil {
			*old = *e // the last one counts
			continue
		}
		if seen != nil {
			seen[e.id] = e
		}
		out = append(out, e)
	}
	return out, nil
}

// find returns the entry with an identity, or nil.
func (l ledger) find(id identity) *entry {
	for _, e := range l {
		if e.id == id {
			return e
		}
	}
	return nil
}

// withoutEmpty leaves out entries that own nothing.
func (l ledger) withoutEmpty() ledger {
	return slices.DeleteFunc(l, (*entry).empty)
}

// sort sorts the entries as they are written: appliers first, then by time and by name.
func (l ledger) sort() {
	slices.SortStableFunc(l, func(a, b *entry) int {
		return cmp.Or(strings.Compare(a.id.Operation, b.id.Operation), strings.Compare(a.time, b.time),
			strings.Compare(a.id.Manager, b.id.Manager), strings.Compare(a.version, b.version), strings.Compare(a.id.Subresource, b.id.Subresource))
	})
}

// appendJSON writes the list.
func (l ledger) appendJSON(dst []byte) []byte {
	dst = append(dst, '[')
	for i, e := range l {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = e.appendJSON(dst)
	}
	return append(dst, ']')
}

func (e *entry) appendJSON(dst []byte) []byte {
	if !e.changed {
		return e.stored.AppendJSON(dst)
	}
	return e.appendTail(e.appendFields(e.appendHead(dst)))
}

// appendHead writes an entry up to its fields.
func (e *entry) appendHead(dst []byte) []byte {
	dst = document.AppendQuoted(append(dst, `{"manager":`...), e.id.Manager)
	dst = document.AppendQuoted(append(dst, `,"operation":`...), e.id.Operation)
	dst = document.AppendQuoted(append(dst, `,"apiVersion":`...), e.version)
	if e.time != "" {
		dst = document.AppendQuoted(append(dst, `,"time":`...), e.time)
	}
	return append(dst, `,"fieldsType":"FieldsV1","fieldsV1":`...)
}

// appendTail writes the rest of an entry after its fields.
func (e *entry) appendTail(dst []byte) []byte {
	if e.id.Subresource != "" {
		dst = document.AppendQuoted(append(dst, `,"subresource":`...), e.id.Subresource)
	}
	return append(dst, '}')
}

// appendFields writes the fieldsV1 object.
func (e *entry) appendFields(dst []byte) []byte {
	switch {
	case e.known:
		return e.set.AppendFields(dst)
	case e.fresh != nil:
		return append(dst, e.fresh...)
	}
	return e.fields().AppendJSON(dst)
}
