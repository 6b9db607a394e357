package tracing

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Tracer begins the spans of requests.
type Tracer struct{ tracer trace.Tracer }

// New makes a tracer for a provider.
func New(p trace.TracerProvider) *Tracer { return &Tracer{p.Tracer(scope)} }

// Request begins the span of a request that has arrived at a time. A trusted client's
// trace context decides whether it is recorded, and is its parent; that of others is only
// linked, so that they cannot have their requests recorded. The returned context names the span
// to other servers even if it is not recorded; the span is nil then.
func (t *Tracer) Request(ctx context.Context, q *http.Request, arrived time.Time, trusted bool) (context.Context, *Span) {
	ctx = propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(q.Header))
	options := []trace.SpanStartOption{trace.WithTimestamp(arrived), trace.WithSpanKind(trace.SpanKindServer)}
	if !trusted {
		options = append(options, trace.WithNewRoot())
		if from := trace.SpanContextFromContext(ctx); from.IsValid() {
			options = append(options, trace.WithLinks(trace.Link{SpanContext: from}))
		}
	}
	ctx, span := t.tracer.Start(ctx, "KubernetesAPI", options...)
	if !span.IsRecording() {
		return ctx, nil
	}
	scheme := "http"
	if q.TLS != nil {
		scheme = "https"
	}
	span.SetAttributes(attribute.String("http.method", q.Method), attribute.String("http.scheme", scheme), attribute.String("http.target", q.RequestURI),
		attribute.String("http.host", q.Host), attribute.String("http.flavor", strings.TrimPrefix(q.Proto, "HTTP/")),
		attribute.String("http.user_agent", q.UserAgent()),
		attribute.String("http.request.method", q.Method), attribute.String("url.path", q.URL.Path))
	if host, port, err := net.SplitHostPort(q.RemoteAddr); err == nil {
		number, _ := strconv.Atoi(port)
		span.SetAttributes(attribute.String("net.peer.ip", host), attribute.Int("net.peer.port", number))
	}
	return ctx, &Span{span}
}

// Answered ends the span of a request, with the code and the size of its answer; a code
// of 0 is for none.
func (s *Span) Answered(code int, bytes int64) {
	if s == nil {
		return
	}
	if code != 0 {
		s.to.SetAttributes(attribute.Int("http.status_code", code), attribute.Int("http.response.status_code", code))
	}
	if bytes > 0 {
		s.to.SetAttributes(attribute.Int64("http.wrote_bytes", bytes))
	}
	if code == 0 || code >= http.StatusInternalServerError {
		s.Fail(http.StatusText(code))
	}
	s.End()
}
