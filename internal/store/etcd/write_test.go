package etcd

import (
	"context"
	"errors"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

// TestWithoutLeader: what a member answers that has no leader counts as no answer in time, also in the form
// in which it comes over the wire.
func TestWithoutLeader(t *testing.T) {
	e := &Engine{stopped: make(chan struct{})}
	for _, err := range []error{rpctypes.ErrTimeout, rpctypes.ErrNoLeader, rpctypes.ErrLeaderChanged, rpctypes.Error(rpctypes.ErrGRPCTimeoutDueToLeaderFail)} {
		if got := e.plain(err); !errors.Is(got, context.DeadlineExceeded) {
			t.Errorf("%v becomes %v", err, got)
		}
	}
	if got := e.plain(rpctypes.ErrPermissionDenied); errors.Is(got, context.DeadlineExceeded) {
		t.Errorf("a refusal becomes %v", got)
	}
}
