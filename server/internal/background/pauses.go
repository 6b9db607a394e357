package background

import (
	"time"

	"github.com/capstan-dev/capstan/internal/controller"
)

// Pauses are the periods of the server's activities.
type Pauses struct {
	// The periods for objects that clients rely on.
	FlowControl, OwnService, Extensions, Registrations, Services, Namespaces time.Duration
	// Reload is the period for checking the files of certificates and tokens, Renewal
	// that for checking the end of the server's own certificates.
	Reload, Renewal time.Duration
	// Certificates are those of certificate signing requests.
	Certificates controller.CleaningTimes
	// Quotas is the period in which each resource quota is counted again.
	Quotas time.Duration
	// RangeGrace is the time from the delete of a range of services' addresses until it may go.
	RangeGrace time.Duration
	// Retry is the pause after a failure.
	Retry time.Duration
}
