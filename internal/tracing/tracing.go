package tracing

import (
	"context"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// scope names this program as the origin of spans.
const scope = "github.com/capstan-dev/capstan"

// Span is a recorded span that has not ended. It is for one goroutine.
type Span struct{ to trace.Span }

// Start begins a span inside of the context's, and returns a context with it; nil and the
// same context without one.
func Start(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, *Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, nil
	}
	ctx, span := parent.TracerProvider().Tracer(scope).Start(ctx, name, options...)
	return ctx, &Span{span}
}

// Stage records a span inside of the context's that began at a time and ends now.
func Stage(ctx context.Context, name string, begin time.Time) {
	if trace.SpanFromContext(ctx).IsRecording() {
		_, span := Start(ctx, name, trace.WithTimestamp(begin))
		span.End()
	}
}

// Of is the span of a context; nil for none.
func Of(ctx context.Context) *Span {
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		return &Span{span}
	}
	return nil
}

// Text sets an attribute.
func (s *Span) Text(key, value string) {
	if s != nil {
		s.to.SetAttributes(attribute.String(key, value))
	}
}

// Number sets an attribute.
func (s *Span) Number(key string, value int) {
	if s != nil {
		s.to.SetAttributes(attribute.Int(key, value))
	}
}

// Event notes that something happened now.
func (s *Span) Event(name string) {
	if s != nil {
		s.to.AddEvent(name)
	}
}

// Sized notes an event about a text of so many bytes.
func (s *Span) Sized(name string, bytes int) {
	if s != nil {
		s.to.AddEvent(name, trace.WithAttributes(attribute.Int("len", bytes)))
	}
}

// Ended notes an event about the end of something: "NAME succeeded", or "NAME failed"
// with the error.
func (s *Span) Ended(name string, err error) {
	switch {
	case s == nil:
	case err != nil:
		s.to.AddEvent(name+" failed", trace.WithAttributes(attribute.String("err", err.Error())))
	default:
		s.to.AddEvent(name + " succeeded")
	}
}

// Fail marks the span as that of a failure, for a reason.
func (s *Span) Fail(reason string) {
	if s != nil {
		s.to.SetStatus(codes.Error, reason)
	}
}

// End ends the span.
func (s *Span) End() {
	if s != nil {
		s.to.End()
	}
}

// Call begins the span of a request to another server, and names it to that server in the
// headers; so is a span that is not recorded. The returned function ends it, with the code
// of the answer, 0 for none.
func Call(ctx context.Context, method, url string, h http.Header) (end func(code int, err error)) {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return func(int, error) {}
	}
	ctx, span := Start(ctx, "HTTP "+method, trace.WithSpanKind(trace.SpanKindClient))
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(h))
	if span != nil {
		span.Text("http.method", method)
		span.Text("http.url", url)
	}
	return func(code int, err error) {
		switch {
		case span == nil:
			return
		case err != nil:
			span.Fail(err.Error())
		case code >= http.StatusBadRequest:
			span.Fail(http.StatusText(code))
		}
		if code != 0 {
			span.Number("http.status_code", code)
		}
		span.End()
	}
}
