// Package tracing records the spans of requests in the form of OpenTelemetry. Spans pass
// down in contexts and W3C trace context headers; their receiver is a provider of
// OpenTelemetry's library.
//
// A nil span is none: its methods do nothing, so that requests without one pay nothing.
//
// # Decisions
//
// Spans of requests are OpenTelemetry's, made by its library's SDK. A request without a span has a
// nil one and pays nothing, and the store has a layer for spans only while traces are on.
// Administrators and the group system:monitoring decide by their traceparent which requests are
// recorded, as in later releases; the traces of other users are linked. The span of a request has
// the name and the attributes of 1.25, the spans inside of it have the names of later releases.
package tracing
