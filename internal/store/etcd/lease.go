package etcd

import (
	"context"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// leases gives leases to values that expire. Values that are written shortly after each other have
// one lease, as with kube-apiserver: etcd would have to follow a lease for each event.
type leases struct {
	mu  sync.Mutex
	all map[time.Duration]shared // by the life of the values
}

// shared is the newest lease of values with the same life.
type shared struct {
	id     clientv3.LeaseID
	usable time.Time // until then a value lives long enough with the lease
	values int
}

// mostLeased bounds the values of one lease: etcd deletes them in one transaction.
const mostLeased = 1000

// lease is a lease with which a value lives for a time, or little longer. It does not hold the lock
// while it asks etcd.
func (e *Engine) lease(ctx context.Context, life time.Duration) (clientv3.LeaseID, error) {
	now := time.Now()
	e.leases.mu.Lock()
	s, ok := e.leases.all[life]
	if ok = ok && now.Before(s.usable) && s.values < mostLeased; ok {
		s.values++
		e.leases.all[life] = s
	}
	e.leases.mu.Unlock()
	if ok {
		return s.id, nil
	}
	reuse := min(e.cfg.Reuse, max(life/20, time.Second))
	granted, err := e.grant(ctx, e.client, int64((life+reuse+time.Second-1)/time.Second))
	if err != nil {
		return 0, e.plain(err)
	}
	e.leases.mu.Lock()
	defer e.leases.mu.Unlock()
	if e.leases.all == nil {
		e.leases.all = map[time.Duration]shared{}
	}
	e.leases.all[life] = shared{granted.ID, now.Add(reuse), 1}
	return granted.ID, nil
}

// grant asks for a lease of a time in seconds.
func (e *Engine) grant(ctx context.Context, from clientv3.Lease, seconds int64) (*clientv3.LeaseGrantResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, e.writeTimeout())
	defer cancel()
	defer e.overdue()()
	return from.Grant(ctx, seconds)
}
