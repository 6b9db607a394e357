package etcd

import (
	"context"
)

// Copy is the state of etcd at one revision, to be copied from there.
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
	return c.engine.list(ctx, c.at.revision, keysOnly, func(kv keyValue) error {
		return visit(Item{string(kv.Key), kv.key, uint64(kv.ModRevision), kv.Value})
	})
}

// Close ends the connection.
func (c *Copy) Close() error { return c.engine.client.Close() }
