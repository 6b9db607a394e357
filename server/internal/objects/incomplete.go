package objects

import (
	"slices"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// lacking are the mistakes of an object that has to have what it lacks, beyond the known ones. In an object that was
// read without parts that only another release knows, one of those parts may be the one: a write would lose it. As in
// 1.25, a write of the status is not held up.
func (t *Ref) lacking(obj document.Value, known []schema.Cause) (causes []schema.Cause) {
	if !t.incomplete || t.writesStatus() {
		return nil
	}
	gv := t.Row.GV
	doc, err := document.ReadCanonical(gv.Types(), t.Row.Type, obj.AppendJSON(nil))
	if err != nil {
		return nil // a text of its own tree
	}
	defer doc.Release()
	for _, c := range document.Validate(doc.Root(), &gv.Validation) {
		value, _, _ := document.Counterpart(doc.Root(), doc.Root(), c.Field)
		lacks := c.Reason == schema.CauseRequired || value.Kind() == document.Object && value.Len() == 0
		if lacks && !slices.Contains(known, c) {
			causes = append(causes, c)
		}
	}
	return causes
}
