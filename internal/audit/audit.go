package audit

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/capstan-dev/capstan/internal/authz"
)

// Figures counts what happens to events.
type Figures interface {
	// Recorded counts an event.
	Recorded()
	// Decided counts a request by the level of its events.
	Decided(Level)
	// Refused counts a request that was refused because it could not be recorded.
	Refused()
	// Failed counts events that a part of the recorder has lost.
	Failed(part string, events int)
}

// Recorder records events. It is safe for concurrent use.
type Recorder struct {
	policy   *Policy
	backends []*backend // the webhook last, since it may shorten the event
	figures  Figures
	buffers  sync.Pool
}

// Open starts recording; nil when nothing is to be recorded. Errors: mistakes in files.
func Open(cfg Config, figures Figures, log *slog.Logger) (*Recorder, error) {
	if cfg.Log.Path == "" && cfg.Webhook.ConfigFile == "" {
		return nil, nil
	}
	r := &Recorder{policy: &standard, figures: figures, buffers: sync.Pool{New: func() any { return new([]byte) }}}
	if cfg.PolicyFile != "" {
		var err error
		if r.policy, err = readPolicy(cfg.PolicyFile); err != nil {
			return nil, err
		}
	}
	to := losses{figures: figures, log: log}
	if cfg.Log.Path != "" {
		b, err := newFile(&cfg.Log)
		if err != nil {
			return nil, err
		}
		r.add(b, cfg.Log.Delivery, to)
	}
	if cfg.Webhook.ConfigFile != "" {
		b, err := newReceiver(&cfg.Webhook)
		if err != nil {
			r.Close(context.Background())
			return nil, err
		}
		r.add(b, cfg.Webhook.Delivery, to)
	}
	return r, nil
}

// Rule is how a request is recorded.
func (r *Recorder) Rule(a *authz.Attributes) *Rule {
	rule := r.policy.Rule(a)
	r.figures.Decided(rule.Level)
	return rule
}

// mostKept bounds the buffers that are kept for further events.
const mostKept = 64 << 10

// Record records a stage of a request. It reports whether the request may go on. Where the
// request waits for its event to be stored it does so until a time, after which the event is lost.
// With the last stage the bodies leave the event, so that they do not wait too.
func (r *Recorder) Record(e *Event, stage Stage, until time.Time) bool {
	if e.Omit.has(stage) {
		return true
	}
	if e.stage, e.at = stage, e.Received; stage != RequestReceived {
		e.at = time.Now()
	}
	r.figures.Recorded()
	buf := r.buffers.Get().(*[]byte)
	*buf = append(e.appendTo((*buf)[:0]), '\n')
	if stage == ResponseComplete || stage == Panic {
		e.Request, e.Response = nil, nil
	}
	ok := true
	for _, b := range r.backends {
		ok = b.take(e, buf, until) && ok
	}
	if cap(*buf) <= mostKept {
		r.buffers.Put(buf)
	}
	if !ok && stage == RequestReceived {
		r.figures.Refused()
		return false
	}
	return true
}

// Close delivers the events that wait, until ctx ends, and closes the log. r may be nil.
func (r *Recorder) Close(ctx context.Context) {
	if r == nil {
		return
	}
	for _, b := range r.backends {
		b.close(ctx)
	}
}

// losses counts lost events, and logs some of them.
type losses struct {
	figures Figures
	log     *slog.Logger
	logged  *atomic.Int64 // nanoseconds since 1970
}

// lossesApart is the least time between log messages about lost events.
const lossesApart = 5 * time.Second

func (l *losses) lost(part string, events int, err error) {
	l.figures.Failed(part, events)
	now, last := time.Now().UnixNano(), l.logged.Load()
	if now-last >= int64(lossesApart) && l.logged.CompareAndSwap(last, now) {
		l.log.Error("audit events are lost; the metric apiserver_audit_error_total counts them", "part", part, "events", events, "error", err)
	}
}
