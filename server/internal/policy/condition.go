package policy

import (
	"regexp"

	"github.com/capstan-dev/capstan/internal/document"
)

// Bounds of the texts of a condition, in bytes.
const (
	maxConditionReason  = 1 << 10
	maxConditionMessage = 32 << 10
)

var conditionReason = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)

// conditions checks conditions of the common form, of which there is one of each
// type.
func (c *causes) conditions(list document.Value) {
	c.uniqueConditions(list)
	for _, condition := range list.Elements() {
		c.formatText(member(condition, "type"), condition.Get("type").Text(), "qualified-name")
		c.oneOf(condition, "status", "False", "True", "Unknown")
		if v := condition.Get("observedGeneration"); number(v) < 0 {
			c.invalid(v, "must be greater than or equal to zero")
		}
		if !isSet(condition.Get("lastTransitionTime")) {
			c.required(member(condition, "lastTransitionTime"), "must be set")
		}
		reason, message := condition.Get("reason"), condition.Get("message")
		switch text := reason.Text(); {
		case text == "":
			c.required(member(condition, "reason"), "must be set")
		case !conditionReason.MatchString(text):
			c.invalid(reason, "must be a word: a letter, then letters, digits, '_', ',' and ':', and no ',' or ':' at the end")
		}
		if len(reason.Text()) > maxConditionReason {
			c.tooLong(reason.Path(), maxConditionReason)
		}
		if len(message.Text()) > maxConditionMessage {
			c.tooLong(message.Path(), maxConditionMessage)
		}
	}
}

// uniqueConditions refuses two conditions of the same type.
func (c *causes) uniqueConditions(conditions document.Value) {
	var types names
	for _, condition := range conditions.Elements() {
		if !types.add(condition.Get("type").Text()) {
			c.duplicate(condition.Get("type"))
		}
	}
}
