package tracing

import (
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/protobuf/encoding/protowire"
)

// The numbers of the fields are those of opentelemetry.proto.trace.v1 and common.v1. The
// library's own messages would bring gRPC's library along.

// request is the message that exports spans: they are of one process, so of one resource.
func request(spans []sdk.ReadOnlySpan) []byte {
	var scope []byte
	scope = part(scope, 1, text(nil, 1, spans[0].InstrumentationScope().Name))
	for _, s := range spans {
		scope = part(scope, 2, span(s))
	}
	resource := part(nil, 1, attributes(nil, 1, spans[0].Resource().Attributes()))
	return part(nil, 1, part(resource, 2, scope))
}

func span(s sdk.ReadOnlySpan) []byte {
	m := identity(nil, s.SpanContext())
	if parent := s.Parent(); parent.HasSpanID() {
		id := parent.SpanID()
		m = part(m, 4, id[:])
	}
	m = text(m, 5, s.Name())
	m = number(m, 6, uint64(s.SpanKind()))
	m = moment(m, 7, s.StartTime())
	m = moment(m, 8, s.EndTime())
	m = attributes(m, 9, s.Attributes())
	m = number(m, 10, uint64(s.DroppedAttributes()))
	for _, e := range s.Events() {
		m = part(m, 11, attributes(text(moment(nil, 1, e.Time), 2, e.Name), 3, e.Attributes))
	}
	m = number(m, 12, uint64(s.DroppedEvents()))
	for _, l := range s.Links() {
		m = part(m, 13, attributes(identity(nil, l.SpanContext), 4, l.Attributes))
	}
	if status := s.Status(); status.Code != codes.Unset {
		code := uint64(1) // that of success
		if status.Code == codes.Error {
			code = 2
		}
		m = part(m, 15, number(text(nil, 2, status.Description), 3, code))
	}
	return m
}

// identity appends the first fields of spans and links: the trace, the span, the state.
func identity(m []byte, c trace.SpanContext) []byte {
	traceID, spanID := c.TraceID(), c.SpanID()
	return text(part(part(m, 1, traceID[:]), 2, spanID[:]), 3, c.TraceState().String())
}

func attributes(m []byte, field protowire.Number, all []attribute.KeyValue) []byte {
	for _, a := range all {
		var value []byte
		switch a.Value.Type() {
		case attribute.INT64:
			value = protowire.AppendVarint(protowire.AppendTag(value, 3, protowire.VarintType), uint64(a.Value.AsInt64()))
		case attribute.BOOL:
			value = protowire.AppendVarint(protowire.AppendTag(value, 2, protowire.VarintType), protowire.EncodeBool(a.Value.AsBool()))
		default:
			value = protowire.AppendString(protowire.AppendTag(value, 1, protowire.BytesType), a.Value.String())
		}
		m = part(m, field, part(text(nil, 1, string(a.Key)), 2, value))
	}
	return m
}

func part(m []byte, field protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(m, field, protowire.BytesType), value)
}

func text(m []byte, field protowire.Number, value string) []byte {
	if value == "" {
		return m
	}
	return protowire.AppendString(protowire.AppendTag(m, field, protowire.BytesType), value)
}

func number(m []byte, field protowire.Number, value uint64) []byte {
	if value == 0 {
		return m
	}
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), value)
}

func moment(m []byte, field protowire.Number, at time.Time) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(m, field, protowire.Fixed64Type), uint64(at.UnixNano()))
}

// rejected is the number of spans that a collector's answer does not accept.
func rejected(answer []byte) (spans int) {
	field, kind, n := protowire.ConsumeTag(answer)
	if n < 0 || field != 1 || kind != protowire.BytesType {
		return 0
	}
	partial, _ := protowire.ConsumeBytes(answer[n:])
	if field, kind, n = protowire.ConsumeTag(partial); n >= 0 && field == 1 && kind == protowire.VarintType {
		if count, n := protowire.ConsumeVarint(partial[n:]); n >= 0 {
			return int(count)
		}
	}
	return 0
}
