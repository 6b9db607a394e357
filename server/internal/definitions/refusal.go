package definitions

import (
	"context"
	"fmt"

	"github.com/capstan-dev/capstan/internal/api"
)

// refusal converts nothing. It stands for conversion webhooks, which this server does not
// call: an object in a version that nobody has converted it to would be a wrong one.
type refusal struct{}

// Convert implements api.Converter.
func (refusal) Convert(_ context.Context, from, to *api.Resource, _ [][]byte) ([][]byte, error) {
	return nil, api.Internal(fmt.Sprintf("conversion webhook for %s, Kind=%s failed: this server does not call conversion webhooks; use the storage version, %s",
		from.GV.APIVersion(), from.Kind, from.Storage().GV.APIVersion()))
}
