package stored

import (
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/convert"
)

// Served is a stored object in the version of a row.
func Served(res *api.Resource, body []byte) ([]byte, error) {
	if res.Conversion == nil {
		return body, nil
	}
	return convert.AppendServed(nil, res, body)
}
