package apply

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/capstan-dev/capstan/internal/api"
)

// maxManager bounds the bytes of a manager's name.
const maxManager = 128

// ManagerName is the name under which a write is recorded: the fieldManager parameter, or
// the part of the user agent before the first slash, its printable characters only, cut
// to 128 bytes.
func ManagerName(fieldManager, userAgent string) string {
	if fieldManager != "" {
		return fieldManager
	}
	agent, _, _ := strings.Cut(userAgent, "/")
	name := make([]byte, 0, min(len(agent), maxManager))
	for _, r := range agent {
		if !unicode.IsPrint(r) {
			continue
		}
		if len(name)+utf8.RuneLen(r) > maxManager {
			break
		}
		name = utf8.AppendRune(name, r)
	}
	return string(name)
}

// CheckManager returns the causes for which a fieldManager parameter is refused; applied
// marks an apply, which must have one.
func CheckManager(name string, applied bool) []api.Cause {
	if name == "" && applied {
		return []api.Cause{{Reason: "FieldValueRequired", Field: "fieldManager", Message: "Required value: is required for apply patch"}}
	}
	var causes []api.Cause
	if len(name) > maxManager {
		causes = append(causes, api.Cause{Reason: "FieldValueTooLong", Field: "fieldManager", Message: "Too long: must have at most 128 bytes"})
	}
	for i, r := range name {
		if !unicode.IsPrint(r) {
			causes = append(causes, api.Cause{Reason: "FieldValueInvalid", Field: "fieldManager",
				Message: "Invalid value: " + quoteShort(name) + fmt.Sprintf(": invalid character %U (at position %d)", r, i)})
			break
		}
	}
	return causes
}
