package etcd

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
)

// stream is one watch over all keys below the prefix. A goroutine reads the messages of etcd while the replica is
// written, so that changes which come meanwhile are written together. A slow replica slows etcd's sending down.
type stream struct {
	rpc     etcdserverpb.Watch_WatchClient
	heard   atomic.Int64 // the number of messages
	arrived chan *etcdserverpb.WatchResponse
	err     error // why the watch has ended; it is set before arrived is closed
}

// arrivedMost is the number of messages that wait for the replica, and changesTogether the number of
// changes from which on no more are added to those that are written together.
const (
	arrivedMost     = 64
	changesTogether = 256
)

// progress is the part of a watch that has come since the last time.
type progress struct {
	events   []*mvccpb.Event // all of their revisions
	revision uint64          // everything up to here has been shown; 0 for a watch that has only begun
}

// openStream begins a watch at a revision. The watch ends with ctx, which has to end.
func (e *Engine) openStream(ctx context.Context, from uint64) (*stream, error) {
	rpc, err := etcdserverpb.NewWatchClient(e.client.ActiveConnection()).Watch(ctx, grpc.MaxCallRecvMsgSize(math.MaxInt32))
	if err != nil {
		return nil, rpctypes.Error(err)
	}
	prefix := e.cfg.Prefix + "/"
	if err := rpc.Send(&etcdserverpb.WatchRequest{RequestUnion: &etcdserverpb.WatchRequest_CreateRequest{CreateRequest: &etcdserverpb.WatchCreateRequest{
		Key: []byte(prefix), RangeEnd: []byte(clientv3.GetPrefixRangeEnd(prefix)), StartRevision: int64(from), ProgressNotify: true, Fragment: true,
	}}}); err != nil {
		return nil, rpctypes.Error(err)
	}
	s := newStream(rpc)
	go s.run(ctx)
	return s, nil
}

func newStream(rpc etcdserverpb.Watch_WatchClient) *stream {
	return &stream{rpc: rpc, arrived: make(chan *etcdserverpb.WatchResponse, arrivedMost)}
}

// run reads the watch to its end, which is that of ctx at the latest.
func (s *stream) run(ctx context.Context) {
	s.err = s.read(ctx)
	close(s.arrived)
}

// read reads messages until the watch ends. The fragments of a message become one.
func (s *stream) read(ctx context.Context) error {
	var whole *etcdserverpb.WatchResponse // of fragments so far; nil for none
	for {
		r, err := s.rpc.Recv()
		if err != nil {
			return fmt.Errorf("etcd: the watch has ended: %w", rpctypes.Error(err))
		}
		s.heard.Add(1)
		switch {
		case r.CompactRevision > 0:
			return errCompacted
		case r.Canceled:
			return fmt.Errorf("etcd: the watch was refused: %s", r.CancelReason)
		case whole != nil && len(r.Events) == 0:
			continue // the progress of a watch whose changes are not all here
		case whole != nil:
			whole.Events = append(whole.Events, r.Events...)
			whole.Fragment = r.Fragment
		default:
			whole = r
		}
		if whole.Fragment {
			continue
		}
		select {
		case s.arrived <- whole:
			whole = nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// next waits until the watch has shown something, and returns it with what came meanwhile.
func (s *stream) next() (p progress, err error) {
	r, ok := <-s.arrived
	if !ok {
		return p, s.err
	}
	for p.add(r); len(p.events) < changesTogether; p.add(r) {
		select {
		case r, ok = <-s.arrived:
		default:
			ok = false
		}
		if !ok { // the next call returns the error, if any
			break
		}
	}
	return p, nil
}

func (p *progress) add(r *etcdserverpb.WatchResponse) {
	switch n := len(r.Events); {
	case r.Created: // etcd's revision is later than what the watch has shown
	case n == 0:
		p.revision = uint64(r.Header.Revision)
	default:
		p.revision = uint64(r.Events[n-1].Kv.ModRevision)
		p.events = append(p.events, r.Events...)
	}
}

// ask requests a message with the revision up to which the watch has shown everything. It is for one goroutine.
func (s *stream) ask() {
	_ = s.rpc.Send(&etcdserverpb.WatchRequest{RequestUnion: &etcdserverpb.WatchRequest_ProgressRequest{ProgressRequest: &etcdserverpb.WatchProgressRequest{}}})
}
