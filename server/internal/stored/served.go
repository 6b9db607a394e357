package stored

import (
	"context"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/convert"
)

// Served is a stored object in the version of a row.
func Served(ctx context.Context, res *api.Resource, body []byte) ([]byte, error) {
	if res.Conversion == nil && res.Definition == nil || res.Definition != nil && convert.HasHead(res, body) {
		return body, nil
	}
	return convert.AppendServed(ctx, nil, res, body)
}
