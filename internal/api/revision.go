package api

import "strconv"

// ParseRevision reads a resourceVersion: ok is false when it is not set. Errors: 400 for
// an invalid text.
func ParseRevision(text string) (rev uint64, ok bool, err error) {
	if text == "" {
		return 0, false, nil
	}
	rev, err = strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, false, BadRequest("resourceVersion %q is not one that this server gave; pass back what you received, unchanged", text)
	}
	return rev, true, nil
}
