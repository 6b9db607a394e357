package objects

import (
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// check is a kind's own rules, nil for none. Of an object that is its own earlier state it returns the mistakes that are not
// in the change.
type check func(obj, old document.Value) []schema.Cause

// check is the rules for a write of the target.
func (t *Ref) check() check {
	switch hooks := t.Row.Hooks; {
	case hooks == nil:
		return nil
	case t.Does() == api.EndpointResize:
		return hooks.ValidateResize
	case hooks.ValidateParts != nil:
		return func(obj, old document.Value) []schema.Cause {
			return append(hooks.Validate(obj, old), hooks.ValidateParts(obj, old, &t.Row.GV.Validation)...)
		}
	default:
		return hooks.Validate
	}
}

// causes returns the causes of an object, all but those that before has too.
func (c check) causes(obj, old, before document.Value) []schema.Cause {
	if c == nil {
		return nil
	}
	causes := c(obj, old)
	if len(causes) == 0 || !before.Exists() {
		return causes
	}
	return stillWrong(causes, obj, before, func() []schema.Cause { return c(before, before) })
}
