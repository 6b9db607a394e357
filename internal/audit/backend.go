package audit

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/capstan-dev/capstan/internal/ranks"
)

// place is where events are kept: a file, or a webhook.
type place interface {
	name() string
	// text is the event as the place keeps it; line is its JSON with a line end.
	text(e *Event, line []byte) []byte
	// send delivers events. It may be called concurrently, if apart is true.
	send(ctx context.Context, events [][]byte) error
	apart() bool
	close() error
}

// backend delivers events to a place. In the mode batch they wait in a queue, in the others
// their requests wait for them.
//
// Invariant: at most BufferSize events of at most mostWaiting bytes wait or are under
// way; further ones are lost and counted. In the other modes further events have no
// bodies, where the place is a webhook.
type backend struct {
	place
	Delivery
	losses

	queue   chan []byte
	count   atomic.Int64
	size    atomic.Int64
	mu      ranks.RWMutex[ranks.Leaf] // for closed
	closed  bool
	running sync.WaitGroup
	ending  chan struct{} // closed with the queue
	done    chan struct{} // closed when the queue has ended
	ctx     context.Context
	giveUp  context.CancelFunc
	due     time.Time // of the last batch, by the throttle
}

// mostWaiting bounds the bytes of the events that wait for one place.
const mostWaiting = 64 << 20

func (r *Recorder) add(p place, d Delivery, l losses) {
	l.logged = new(atomic.Int64)
	b := &backend{place: p, Delivery: d, losses: l, ending: make(chan struct{}), done: make(chan struct{})}
	b.ctx, b.giveUp = context.WithCancel(context.Background())
	if b.Mode == modeBatch {
		b.queue = make(chan []byte, b.BufferSize)
		go b.run()
	} else {
		close(b.done)
	}
	r.backends = append(r.backends, b)
}

// errTooLarge is the loss of an event that is too large without its bodies too.
var errTooLarge = errors.New("the event is too large even without the bodies")

// take delivers an event, or puts it into the queue, and reports whether its request may
// go on. The request waits until a time.
func (b *backend) take(e *Event, buf *[]byte, until time.Time) bool {
	line := *buf
	if b.Truncate && int64(len(line)) > b.MaxEventBytes {
		if e.Level >= Request {
			line = e.withoutBodies()
		}
		if int64(len(line)) > b.MaxEventBytes {
			b.lost("truncate", 1, errTooLarge)
			return true
		}
	}
	if b.Mode == modeBatch {
		b.put(bytes.Clone(b.text(e, line)))
		return true
	}
	size := int64(len(line))
	if b.size.Add(size) > mostWaiting && b.apart() && e.Level >= Request {
		*buf = e.withoutBodies() // frees the whole line, which the other places have
		line = *buf
		b.size.Add(int64(len(line)) - size)
		size = int64(len(line))
	}
	defer b.size.Add(-size)
	ctx := b.ctx
	if b.apart() { // a file knows no context
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, until)
		defer cancel()
	}
	if err := b.send(ctx, [][]byte{b.text(e, line)}); err != nil {
		b.lost(b.name(), 1, err)
		return b.Mode != modeStrict
	}
	return true
}

// withoutBodies is the line of an event that says so.
func (e *Event) withoutBodies() []byte {
	short := *e
	short.Request, short.Response, short.Notes = nil, nil, map[string]string{truncated: "true"}
	for key, value := range e.Notes {
		short.Notes[key] = value
	}
	return append(short.appendTo(nil), '\n')
}

// The reasons of losses.
var (
	errFull   = errors.New("too many events wait")
	errClosed = errors.New("the server has stopped")
)

func (b *backend) put(text []byte) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	switch size := int64(len(text)); {
	case b.closed:
		b.lost("buffered", 1, errClosed)
	case b.count.Add(1) > int64(b.BufferSize) || b.size.Add(size) > mostWaiting:
		b.gone([][]byte{text})
		b.lost("buffered", 1, errFull)
	default:
		b.queue <- text // which has room
	}
}

// gone notes that events wait no longer.
func (b *backend) gone(batch [][]byte) {
	b.count.Add(-int64(len(batch)))
	for _, text := range batch {
		b.size.Add(-int64(len(text)))
	}
}

// run delivers the queue in batches, until it is closed and empty.
func (b *backend) run() {
	defer close(b.done)
	for {
		batch, more := b.collect()
		if len(batch) > 0 {
			b.pause()
			b.running.Add(1)
			if b.apart() {
				go b.deliver(batch)
			} else {
				b.deliver(batch)
			}
		}
		if !more {
			b.running.Wait()
			return
		}
	}
}

// collect takes a batch from the queue: a full one, or what has come until the time for a
// smaller one. more is false at the end of the queue.
func (b *backend) collect() (batch [][]byte, more bool) {
	var late <-chan time.Time
	size := 0
	for len(batch) < b.MaxBatchSize {
		select {
		case text, ok := <-b.queue:
			if !ok {
				return batch, false
			}
			batch = append(batch, text)
			if size += len(text); b.Truncate && int64(size)+b.MaxEventBytes > b.MaxBatchBytes {
				return batch, true
			}
			if late == nil && b.MaxBatchSize > 1 {
				late = time.After(b.MaxBatchWait)
			}
		case <-late:
			return batch, true
		}
	}
	return batch, true
}

// pause waits until the throttle lets the next batch go. At the end nothing is throttled.
func (b *backend) pause() {
	if !b.Throttle {
		return
	}
	apart := time.Duration(float64(time.Second) / float64(b.QPS))
	if first := time.Now().Add(-time.Duration(b.Burst) * apart); b.due.Before(first) {
		b.due = first
	}
	b.due = b.due.Add(apart)
	if wait := time.Until(b.due); wait > 0 {
		select {
		case <-time.After(wait):
		case <-b.ending:
		}
	}
}

func (b *backend) deliver(batch [][]byte) {
	defer b.running.Done()
	if err := b.send(b.ctx, batch); err != nil {
		b.lost(b.name(), len(batch), err)
	}
	b.gone(batch)
}

// close delivers the queue until ctx ends.
func (b *backend) close(ctx context.Context) {
	b.mu.Lock()
	if !b.closed && b.queue != nil {
		close(b.queue)
		close(b.ending)
	}
	b.closed = true
	b.mu.Unlock()
	select {
	case <-b.done:
	case <-ctx.Done():
		b.giveUp()
		<-b.done
	}
	b.giveUp()
	if err := b.place.close(); err != nil {
		b.log.Error("the audit log could not be closed", "error", err)
	}
}
