package schema

import "cmp"

// Cause is one detail of a failure, usually one wrong field. It becomes an
// entry of details.causes in a Status.
type Cause struct {
	Reason  string // one of the Cause… constants
	Message string // the mistake and its remedy, with the value
	Field   string // "spec.template.spec.containers[0].name"; "" for none
	Place   string // the path that decides the position in the list of causes; "" for Field
	Hides   string // the path of a value that is not validated because of this cause; "" for none
}

// Turn is the path that decides the position of the cause in the list.
func (c *Cause) Turn() string { return cmp.Or(c.Place, c.Field) }

// Reasons of a Cause, as clients of Kubernetes 1.25 check them.
const (
	CauseInvalid      = "FieldValueInvalid"
	CauseRequired     = "FieldValueRequired"
	CauseDuplicate    = "FieldValueDuplicate"
	CauseNotSupported = "FieldValueNotSupported"
	CauseForbidden    = "FieldValueForbidden"
	CauseNotFound     = "FieldValueNotFound"
	CauseTooLong      = "FieldValueTooLong"
	CauseTooMany      = "FieldValueTooMany"
	CauseTypeInvalid  = "FieldValueTypeInvalid"
	CauseInternal     = "InternalError" // consequence of another mistake
)
