package controller

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/store"
)

// cleaner is the controller that deletes certificate signing requests some time after
// their end, and those without a decision.
type cleaner struct {
	*cluster
	typ   *Type
	queue *queue[struct{}]
}

func newCleaner(ctx context.Context, c *cluster) handler {
	r := &cleaner{cluster: c, typ: c.signingRequests()}
	r.queue = newQueue(ctx, Cleaner, 1, c.Logger, func(ctx context.Context, _ struct{}) error {
		r.queue.addAfter(struct{}{}, r.Certificates.Cleaning.Interval)
		return r.clean(ctx)
	})
	r.queue.add(struct{}{})
	return r
}

func (r *cleaner) wants(*Type) bool                      { return false }
func (r *cleaner) reset()                                {}
func (r *cleaner) close()                                { r.queue.close() }
func (r *cleaner) observe(context.Context, *observation) {}

// clean deletes all requests whose time is over.
func (r *cleaner) clean(ctx context.Context) error {
	view, err := r.Store.At(ctx, 0)
	if err != nil {
		return err
	}
	defer func() { _ = view.Close() }()
	now := r.Now()
	var over []*signingRequest
	err = view.Scan(ctx, r.typ.Prefix, "", func(e *store.Entry) bool {
		if request, err := readSigningRequest(e.Body); err == nil && request.over(now, r.Certificates.Cleaning) {
			over = append(over, request)
		}
		return true
	})
	if err != nil {
		return err
	}
	return errors.Join(forEach(ctx, parallel, over, func(ctx context.Context, request *signingRequest) error {
		err := r.Cluster.Delete(ctx, r.typ.Resource, "", request.Metadata.Name, DeleteOptions{UID: request.Metadata.UID})
		if hasReason(err, api.ReasonConflict) {
			return nil // another request of that name
		}
		return ignoreNotFound(err)
	})...)
}

// over reports whether the time of a request is over.
func (r *signingRequest) over(now time.Time, times CleaningTimes) bool {
	if len(r.Status.Conditions) == 0 && older(r.Metadata.CreationTimestamp, now, times.Pending) {
		return true
	}
	issued := len(r.Status.Certificate) > 0
	for _, c := range r.Status.Conditions {
		switch c.Type {
		case conditionDenied, conditionFailed:
			if older(c.LastUpdateTime, now, times.Decided) {
				return true
			}
		case conditionApproved:
			if issued && (older(c.LastUpdateTime, now, times.Decided) || ended(r.Status.Certificate, now)) {
				return true
			}
		}
	}
	return false
}

// older reports whether more than a time has passed since at.
func older(at, now time.Time, than time.Duration) bool {
	return !at.IsZero() && now.Sub(at) > than
}

// ended reports whether the first of some certificates, PEM, has ended.
func ended(chain []byte, now time.Time) bool {
	block, _ := pem.Decode(chain)
	if block == nil {
		return false
	}
	certificates, err := x509.ParseCertificates(block.Bytes)
	return err == nil && len(certificates) > 0 && now.After(certificates[0].NotAfter)
}
