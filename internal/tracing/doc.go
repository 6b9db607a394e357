// Package tracing records the spans of requests in the form of OpenTelemetry, and sends them
// to a collector over gRPC (OTLP), by a configuration with the form of kube-apiserver's. Spans
// pass down in contexts and W3C trace context headers.
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
//
// The way of spans out of the server is our own. Collectors listen at kube-apiserver's default
// endpoint for gRPC. The library's exporter for gRPC adds 10 MB to the binary, that for HTTP 9.9
// MB, since its messages need gRPC's library too, and neither counts the spans that it drops. The
// SDK with our messages adds 0.9 MB.
package tracing
