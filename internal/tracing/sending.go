package tracing

import "time"

// Figures counts spans.
type Figures interface {
	// Spans notes the end of so many spans: "sent", "dropped" while the queue was full, or
	// "failed".
	Spans(end string, count int)
}

// Pauses are the times of a sender; the zero value is that of OpenTelemetry.
type Pauses struct {
	Batch time.Duration // from the first span of a batch until it is sent. 5s
	Call  time.Duration // for an attempt to send. 10s
	Again time.Duration // until the next attempt. 5s
	Give  time.Duration // after which a batch is given up. 1m
}
