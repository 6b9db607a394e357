package codec

import (
	"strconv"

	"github.com/capstan-dev/capstan/internal/api"
)

// StatusBody is a Status before it is written.
type StatusBody struct {
	failure *api.Error // nil for success
	// Of a success: its details, or its code where there are none.
	name, group, resource, uid string
	code                       int
}

// Status is the Status that an error is answered with.
func Status(e *api.Error) StatusBody { return StatusBody{failure: e} }

// Deleted is the Status of a delete that removed an object.
func Deleted(group, resource, name, uid string) StatusBody {
	return StatusBody{name: name, group: group, resource: resource, uid: uid}
}

// Success is the Status of an operation that has nothing else to show.
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
	dst = appendMember(dst, "message", e.Message)
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
	dst = appendMember(dst, "name", e.Name)
	dst = appendMember(dst, "group", e.Group)
	dst = appendMember(dst, "kind", e.Kind)
	dst = appendMember(dst, "uid", e.UID)
	for i, c := range e.Causes {
		if i == 0 {
			dst = appendComma(dst)
			dst = append(dst, `"causes":[`...)
		}
		dst = appendComma(dst)
		dst = append(dst, '{')
		dst = appendMember(dst, "reason", c.Reason)
		dst = appendMember(dst, "message", c.Message)
		dst = appendMember(dst, "field", c.Field)
		dst = append(dst, '}')
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

// appendMember appends a member unless it is empty.
func appendMember(dst []byte, name, value string) []byte {
	if value == "" {
		return dst
	}
	dst = appendQuoted(appendComma(dst), name)
	return appendQuoted(append(dst, ':'), value)
}

// appendComma appends a comma unless an object or a list has just begun.
func appendComma(dst []byte) []byte {
	if last := dst[len(dst)-1]; last == '{' || last == '[' {
		return dst
	}
	return append(dst, ',')
}
