package objects

import (
	"bytes"
	"slices"
	"strings"

	"github.com/capstan-dev/capstan/internal/convert"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// The schema of a version holds for writes in that version, also where objects are stored in another one:
// the storage version may allow more, and the conversion may turn a forbidden value into a permitted
// one. So the object as it was sent is judged by its own version (Evaluation.written), and after the plug-ins by the
// storage version. A mistake that both find is reported once. Mistakes that an update does not touch
// are accepted, as always: the object may have been written in another version.

// judgeWritten finds the mistakes of an object by the version of the write: by its schema, and by the rules
// that are written for it.
func (e *Evaluation) judgeWritten(obj document.Value) []schema.Cause {
	if e.Row.GV.StoredRules {
		return e.Ref.check().causes(obj, e.Was, e.Was)
	}
	by := &e.Row.GV.Validation
	causes := document.Validate(obj, by)
	if e.Was.Exists() {
		if len(causes) > 0 {
			causes = document.ValidateTouched(obj, e.Was, by)
		}
		causes = append(causes, document.ValidateUpdate(obj, e.Was, by)...)
	}
	return append(causes, e.Ref.check().causes(obj, e.Was, e.Was)...)
}

// admitWritten runs a step that may change the object. A wrong object that the step has changed is judged again,
// as its version shows it then: the change may have mended it.
func (e *Evaluation) admitWritten(admit func() error) error {
	if len(e.written) == 0 {
		return admit()
	}
	before := e.obj.AppendJSON(nil)
	if err := admit(); err != nil || bytes.Equal(before, e.obj.AppendJSON(nil)) {
		return err
	}
	doc, err := convert.FromStorage(e.ctx, e.Row.Resource, e.obj)
	if err != nil {
		return err
	}
	defer doc.Release()
	e.written = e.judgeWritten(doc.Root())
	return nil
}

// withWritten adds the mistakes by the version of the write to those by the storage version, whose fields
// have the names of the version of the write.
func (e *Evaluation) withWritten(causes []schema.Cause) []schema.Cause {
	for _, w := range e.written {
		if !slices.ContainsFunc(causes, func(c schema.Cause) bool { return sameMistake(c, w) }) {
			causes = append(causes, w)
		}
	}
	return causes
}

// sameMistake compares two causes but for the values that they show.
func sameMistake(a, b schema.Cause) bool {
	return a.Field == b.Field && a.Reason == b.Reason &&
		a.Message[strings.LastIndex(a.Message, ": ")+1:] == b.Message[strings.LastIndex(b.Message, ": ")+1:]
}
