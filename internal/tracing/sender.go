package tracing

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/capstan-dev/capstan/internal/grpc"
)

// Sender gathers the spans that have ended and sends them in batches. It implements
// sdk.SpanProcessor: the library's own counts nowhere what it drops.
type Sender struct {
	*Tracer
	calls   *grpc.Caller
	figures Figures
	log     *slog.Logger
	pauses  Pauses
	ended   chan sdk.ReadOnlySpan
	failing atomic.Bool // the last batch was not accepted, as was logged

	stop context.CancelFunc // of the goroutine, after which
	done chan struct{}      // is closed
}

// Bounds of memory. Texts of clients are cut.
const (
	mostWaiting = 2048 // spans
	mostBatch   = 512
	mostText    = 1024 // bytes of an attribute
)

// Open begins to send spans of this process, which is known by an instance's name.
func Open(c *Config, instance string, figures Figures, log *slog.Logger, pauses Pauses) *Sender {
	if pauses == (Pauses{}) {
		pauses = Pauses{Batch: 5 * time.Second, Call: 10 * time.Second, Again: 5 * time.Second, Give: time.Minute}
	}
	s := &Sender{calls: grpc.New(c.network, c.address), figures: figures, log: log, pauses: pauses, ended: make(chan sdk.ReadOnlySpan, mostWaiting),
		done: make(chan struct{})}
	limits := sdk.NewSpanLimits()
	limits.AttributeValueLengthLimit = mostText
	sampler := sdk.NeverSample()
	if c.Rate > 0 {
		sampler = sdk.TraceIDRatioBased(float64(c.Rate) / 1e6)
	}
	origin := resource.NewSchemaless(attribute.String("service.name", "apiserver"), attribute.String("service.instance.id", instance))
	s.Tracer = New(sdk.NewTracerProvider(sdk.WithSampler(sdk.ParentBased(sampler)), sdk.WithSpanProcessor(s), sdk.WithResource(origin),
		sdk.WithRawSpanLimits(limits)))
	var running context.Context
	running, s.stop = context.WithCancel(context.Background())
	go s.run(running)
	return s
}

// OnStart implements sdk.SpanProcessor.
func (s *Sender) OnStart(context.Context, sdk.ReadWriteSpan) {}

// OnEnd implements sdk.SpanProcessor. It never waits.
func (s *Sender) OnEnd(span sdk.ReadOnlySpan) {
	select {
	case s.ended <- span:
	default:
		s.figures.Spans("dropped", 1)
	}
}

// ForceFlush implements sdk.SpanProcessor.
func (s *Sender) ForceFlush(context.Context) error { return nil }

// Shutdown implements sdk.SpanProcessor.
func (s *Sender) Shutdown(context.Context) error { return nil }

// Close sends the spans that have ended, once, while ctx and the time for an attempt last.
// s may be nil.
func (s *Sender) Close(ctx context.Context) {
	if s == nil {
		return
	}
	s.stop()
	<-s.done
	ctx, cancel := context.WithTimeout(ctx, s.pauses.Call)
	defer cancel()
	s.pauses.Give = 0
	var rest []sdk.ReadOnlySpan
	for len(s.ended) > 0 {
		rest = append(rest, <-s.ended)
	}
	for batch := range slices.Chunk(rest, mostBatch) {
		if ctx.Err() != nil || !s.send(ctx, batch) {
			s.figures.Spans("failed", len(batch))
		}
	}
	s.calls.Close()
}

// run sends batches until ctx ends.
func (s *Sender) run(ctx context.Context) {
	defer close(s.done)
	for {
		batch := make([]sdk.ReadOnlySpan, 0, 16)
		var due <-chan time.Time
		for full := false; !full; {
			select {
			case span := <-s.ended:
				if batch = append(batch, span); due == nil {
					due = time.After(s.pauses.Batch)
				}
				full = len(batch) == mostBatch
			case <-due:
				full = true
			case <-ctx.Done():
				full = true
			}
		}
		sent := len(batch) == 0 || s.send(ctx, batch)
		switch {
		case ctx.Err() == nil && !sent:
			s.figures.Spans("failed", len(batch))
		case ctx.Err() != nil && !sent:
			for _, span := range batch {
				s.OnEnd(span) // for Close
			}
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// send sends a batch, again and again while that may help, and reports whether the
// collector has it.
func (s *Sender) send(ctx context.Context, batch []sdk.ReadOnlySpan) bool {
	message := request(batch)
	for begin := time.Now(); ; {
		err := s.try(message, len(batch))
		if err == nil {
			s.failing.Store(false)
			return true
		}
		if !s.failing.Swap(true) && ctx.Err() == nil {
			s.log.Warn("spans of requests cannot be sent to the collector", "error", err)
		}
		if !passing(err) || time.Since(begin) >= s.pauses.Give || ctx.Err() != nil {
			return false
		}
		select {
		case <-time.After(s.pauses.Again):
		case <-ctx.Done():
		}
	}
}

// try sends a message once. The end of the goroutine does not interrupt it: the collector
// might have the spans then, or not.
func (s *Sender) try(message []byte, spans int) error {
	ctx, cancel := context.WithTimeout(context.Background(), s.pauses.Call)
	defer cancel()
	answer, err := s.calls.Call(ctx, "/opentelemetry.proto.collector.trace.v1.TraceService/Export", message)
	if err != nil {
		return err
	}
	refused := min(rejected(answer), spans)
	s.figures.Spans("sent", spans-refused)
	s.figures.Spans("failed", refused)
	return nil
}

// passing reports whether the collector may accept later what it has not accepted: the
// codes are those of the protocol.
func passing(err error) bool {
	var refused *grpc.StatusError
	if !errors.As(err, &refused) {
		return true
	}
	return slices.Contains([]int{1, 4, 8, 10, 11, 14, 15}, refused.Code)
}
