package etcd

import (
	"context"
	"errors"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Copy is the state of etcd at one revision, to be copied from there, or to it while it is empty.
type Copy struct {
	engine *Engine
	at     greeting
}

// Item is a key of etcd with its value.
type Item struct {
	Place    string // the key in etcd, with the prefix
	Key      string // of the store; "" for what others keep in etcd
	Revision uint64 // of the change that wrote it
	Data     []byte // the value, unless only keys are read
}

// OpenCopy connects to etcd and notes its newest revision. The replica of the configuration is not
// used. Errors are those of Open.
func OpenCopy(ctx context.Context, cfg Config) (*Copy, error) {
	e, err := connect(cfg)
	if err != nil {
		return nil, err
	}
	c := &Copy{engine: e}
	if c.at, err = e.greet(ctx); err != nil {
		_ = e.client.Close()
		return nil, err
	}
	return c, nil
}

// Revision is the revision of the state.
func (c *Copy) Revision() uint64 { return c.at.revision }

// Source names the cluster of etcd and the prefix.
func (c *Copy) Source() string { return c.at.source }

// Each visits all keys in pages, in the order of their places; those that only keys are read of have
// no value. Errors: visit's, and those of etcd, as when the revision was compacted meanwhile.
func (c *Copy) Each(ctx context.Context, keysOnly bool, visit func(Item) error) error {
	return c.engine.list(ctx, c.at.revision, keysOnly, func(page []keyValue) error {
		for _, kv := range page {
			if err := visit(Item{string(kv.Key), kv.key, uint64(kv.ModRevision), kv.Value}); err != nil {
				return err
			}
		}
		return nil
	})
}

// Fill writes the values of keys in one transaction, which must not exist in etcd yet. At most
// MostFilled values fit into one, and about a megabyte of them.
func (c *Copy) Fill(ctx context.Context, all []Item) error {
	var absent []clientv3.Cmp
	var puts []clientv3.Op
	for _, item := range all {
		place := c.engine.place(item.Key)
		absent = append(absent, clientv3.Compare(clientv3.CreateRevision(place), "=", 0))
		puts = append(puts, clientv3.OpPut(place, string(item.Data)))
	}
	ctx, cancel := context.WithTimeout(ctx, c.engine.cfg.Timeout)
	defer cancel()
	answer, err := c.engine.client.Txn(ctx).If(absent...).Then(puts...).Commit()
	switch {
	case err != nil:
		return c.engine.plain(err)
	case !answer.Succeeded:
		return errors.New("etcd: somebody else writes there; stop what does, and export to an empty prefix")
	}
	return nil
}

// MostFilled is the number of values that fit into one transaction of Fill: etcd accepts 128
// operations.
const MostFilled = 100

// Remove deletes a key that is as it was read.
func (c *Copy) Remove(ctx context.Context, item Item) error {
	ctx, cancel := context.WithTimeout(ctx, c.engine.cfg.Timeout)
	defer cancel()
	same := clientv3.Compare(clientv3.ModRevision(item.Place), "=", int64(item.Revision))
	answer, err := c.engine.client.Txn(ctx).If(same).Then(clientv3.OpDelete(item.Place)).Commit()
	switch {
	case err != nil:
		return c.engine.plain(err)
	case !answer.Succeeded:
		return fmt.Errorf("etcd: %s has changed meanwhile; look again", item.Place)
	}
	return nil
}

// Advance moves the state to etcd's newest revision, to read what Fill has written.
func (c *Copy) Advance(ctx context.Context) (err error) {
	c.at, err = c.engine.greet(ctx)
	return err
}

// Close ends the connection.
func (c *Copy) Close() error { return c.engine.client.Close() }
