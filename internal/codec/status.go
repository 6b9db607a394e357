package codec

import (
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
)

// Messages often repeat a part of the request. So that a request of megabytes does not
// get an answer of megabytes, longer texts are cut, and so are all but the first causes.
const (
	maxMessage = 32 << 10  // bytes of one text
	maxCauses  = 256 << 10 // bytes of all texts of the causes
)

// StatusBody is a Status before it is written.
type StatusBody struct {
	failure *api.Error // nil for success
	// Of a success: its details, or its code where there are none.
	name, group, resource, uid string
	code                       int
}

// Status is the Status of an error.
func Status(e *api.Error) StatusBody { return StatusBody{failure: e} }

// Deleted is the Status of a delete that removed an object.
func Deleted(group, resource, name, uid string) StatusBody {
	return StatusBody{name: name, group: group, resource: resource, uid: uid}
}

// Success is the Status of an operation without another result.
func Success(code int) StatusBody { return StatusBody{code: code} }

// JSON is the Status as canonical JSON.
func (s StatusBody) JSON() []byte {
	dst := append(make([]byte, 0, 512), `{"kind":"Status","apiVersion":"v1","metadata":{},"status":`...)
	e := s.failure
	if e == nil && s.code != 0 {
		dst = append(dst, `"Success","code":`...)
		return append(strconv.AppendInt(dst, int64(s.code), 10), '}')
	}
	if e == nil {
		dst = append(dst, `"Success","details":`...)
		dst = appendDetails(dst, &api.Error{Name: s.name, Group: s.group, Kind: s.resource, UID: s.uid})
		return append(dst, '}')
	}
	dst = append(dst, `"Failure"`...)
	dst = appendMember(dst, "message", clip(e.Message, maxMessage))
	dst = appendMember(dst, "reason", string(e.Reason))
	if e.HasDetails {
		dst = append(dst, `,"details":`...)
		dst = appendDetails(dst, e)
	}
	if e.Code != 0 {
		dst = append(dst, `,"code":`...)
		dst = strconv.AppendInt(dst, int64(e.Code), 10)
	}
	return append(dst, '}')
}

func appendDetails(dst []byte, e *api.Error) []byte {
	dst = append(dst, '{')
	dst = appendMember(dst, "name", clip(e.Name, maxMessage))
	dst = appendMember(dst, "group", e.Group)
	dst = appendMember(dst, "kind", e.Kind)
	dst = appendMember(dst, "uid", e.UID)
	room := maxCauses
	for i, c := range e.Causes {
		if i == 0 {
			dst = appendComma(dst)
			dst = append(dst, `"causes":[`...)
		}
		c.Message, c.Field = clip(c.Message, maxMessage), clip(c.Field, maxMessage)
		if room -= len(c.Reason) + len(c.Message) + len(c.Field); room < 0 {
			c = api.Cause{Message: fmt.Sprintf("and %d more", len(e.Causes)-i)}
		}
		dst = appendComma(dst)
		dst = append(dst, '{')
		dst = appendMember(dst, "reason", c.Reason)
		dst = appendMember(dst, "message", c.Message)
		dst = appendMember(dst, "field", c.Field)
		dst = append(dst, '}')
		if room < 0 {
			break
		}
	}
	if len(e.Causes) > 0 {
		dst = append(dst, ']')
	}
	if e.RetryAfter > 0 {
		dst = appendComma(dst)
		dst = append(dst, `"retryAfterSeconds":`...)
		dst = strconv.AppendInt(dst, int64(e.RetryAfter), 10)
	}
	return append(dst, '}')
}

// clip cuts a text that is longer than most bytes, with a note.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return fmt.Sprintf("%s... (%d bytes more)", text[:most], len(text)-most)
}

// appendMember appends a member unless it is empty.
func appendMember(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	dst = document.AppendQuoted(appendComma(dst), name)
	return document.AppendQuoted(append(dst, ':'), value)
}

// appendComma appends a comma unless an object or a list has just begun.
func appendComma(dst []byte) []byte {
	if last := dst[len(dst)-1]; last == '{' || last == '[' {
		return dst
	}
	return append(dst, ',')
}
