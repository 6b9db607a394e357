package apply

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/capstan-dev/capstan/internal/api"
)

// maxManager is the most characters of a manager's name.
const maxManager = 128

// ManagerName is the name under which a write is recorded: the fieldManager
// parameter, or what stands before the first slash of the user agent, cut to
// 128 bytes and to what can be printed.
func ManagerName(fieldManager, userAgent string) string {
	if fieldManager != "" {
		return fieldManager
	}
	name, _, _ := strings.Cut(userAgent, "/")
	end := 0
	for i, r := range name {
		if !unicode.IsPrint(r) || r == utf8.RuneError {
			break
		}
		if i+utf8.RuneLen(r) > maxManager {
			break
		}
		end = i + utf8.RuneLen(r)
	}
	return name[:end]
}

// CheckManager gives the causes for which a fieldManager parameter is refused;
// applied says that the request is an apply, which must have one.
func CheckManager(name string, applied bool) []api.Cause {
	if name == "" && applied {
		return []api.Cause{{Reason: "FieldValueRequired", Field: "fieldManager", Message: "Required value: is required for apply patch"}}
	}
	var causes []api.Cause
	if len(name) > maxManager {
		causes = append(causes, api.Cause{Reason: "FieldValueTooLong", Field: "fieldManager", Message: "Too long: may not be longer than 128"})
	}
	for i, r := range name {
		if !unicode.IsPrint(r) {
			causes = append(causes, api.Cause{Reason: "FieldValueInvalid", Field: "fieldManager",
				Message: "Invalid value: " + quoteShort(name) + ": should only contain printable characters (at position " + itoa(i) + ")"})
			break
		}
	}
	return causes
}
