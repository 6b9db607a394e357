// Package otlp sends spans to a collector of OpenTelemetry, over gRPC (OTLP), by a
// configuration with the form of kube-apiserver's.
//
// # Decisions
//
// The way of spans out of the server is our own. Collectors listen at kube-apiserver's default
// endpoint for gRPC. The library's exporter for gRPC adds 10 MB to the binary, that for HTTP 9.9
// MB, since its messages need gRPC's library too, and neither counts the spans that it drops. The
// SDK with our messages adds 0.9 MB.
package otlp
