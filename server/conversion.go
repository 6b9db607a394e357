package server

import (
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/convert"
)

// A kind that is served in several versions is stored in one of them. A write in
// another is decoded, and recorded in managedFields, in its own version; from
// there on the object is what is stored, and answers are converted back. For
// kinds of one version nothing of this runs.

// stored is the target in the version that its objects are stored in.
func (t ref) stored() ref {
	if t.resource.Conversion != nil {
		t.resource = t.resource.Storage()
		if t.sub != nil {
			t.sub = t.resource.Subresource(t.sub.Name)
		}
	}
	return t
}

// servedBody is a stored object in the version of a row.
func servedBody(res *api.Resource, body []byte) ([]byte, error) {
	if res.Conversion == nil {
		return body, nil
	}
	return convert.AppendServed(nil, res, body)
}
