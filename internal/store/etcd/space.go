package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/capstan-dev/capstan/internal/store"
)

// errNoSpace: etcd's database is full. Deletions go on.
var errNoSpace = fmt.Errorf("%w: etcd has raised the alarm NOSPACE: compact and defragment it, then disarm the alarm", store.ErrFull)

// space is whether etcd's database has space. The store is full from the first write that is refused
// for that reason until one would be made again.
type space struct {
	full   atomic.Bool
	filled chan struct{} // from the write that is refused
}

// spacePause is the time between questions to a full etcd.
const spacePause = time.Second

// lacks notes that etcd has refused a write for lack of space.
func (s *space) lacks() {
	if !s.full.Swap(true) {
		s.filled <- struct{}{} // the first one since it was taken
	}
}

// awaitSpace notices when a full etcd has space again, until ctx ends.
func (e *Engine) awaitSpace(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-e.space.filled:
		}
		e.cfg.Logger.Error(errNoSpace.Error() + "; creates and updates are refused until then, deletes go on")
		for e.space.full.Load() {
			select {
			case <-ctx.Done():
				return
			case <-time.After(spacePause):
			}
			e.space.full.Store(errors.Is(e.tryWrite(ctx), rpctypes.ErrNoSpace))
		}
		e.cfg.Logger.Info("etcd: there is space again; creates and updates go on")
	}
}

// tryWrite asks whether a write would be made. None is: etcd looks at the rights of the user and at the
// space before it looks at the comparison.
func (e *Engine) tryWrite(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, e.cfg.Timeout)
	defer cancel()
	place := e.cfg.Prefix + "/capstan/write" // no key of the form
	_, err := e.client.Txn(ctx).If(clientv3.Compare(clientv3.CreateRevision(place), "<", 0)).Then(clientv3.OpPut(place, "")).Commit()
	return err
}

// mayWrite refuses a user of the client who may not write the keys. A full etcd may have space later.
func (e *Engine) mayWrite(ctx context.Context) error {
	err := e.tryWrite(ctx)
	switch {
	case errors.Is(err, rpctypes.ErrPermissionDenied):
		return fmt.Errorf("etcd: this server may not write below %s/: give the user of --etcd-certfile the right to read and write there", e.cfg.Prefix)
	case err != nil:
		if err = e.plain(err); errors.Is(err, store.ErrFull) {
			return nil
		}
	}
	return err
}
