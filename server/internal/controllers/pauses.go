package controllers

import "time"

// Pauses are the times between what the server does now and then.
type Pauses struct {
	// How often what everybody relies on is looked after.
	FlowControl, OwnService, Extensions, Registrations, Services, Namespaces time.Duration
	// Reload is how often the files of certificates and tokens are looked at, Renewal
	// how often it is seen whether the server's own certificates are ending.
	Reload, Renewal time.Duration
	// Retry is how long is waited after a failure.
	Retry time.Duration
}
