package server

import (
	"context"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/server/internal/admission"
)

// none is the admission of a server without the built-in groups, whose plug-ins are about
// built-in kinds.
type none struct{}

func (none) Admit(context.Context, *admission.Request) error       { return nil }
func (none) Check(context.Context, *admission.Request) error       { return nil }
func (none) Waits(admission.Operation, *api.Resource, string) bool { return false }
