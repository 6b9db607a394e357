package move

import (
	"context"
	"fmt"

	"github.com/capstan-dev/capstan/internal/store/etcd"
	"github.com/capstan-dev/capstan/server/internal/registry"
)

// etcdSource has the objects that kube-apiserver keeps in etcd, as of one revision.
type etcdSource struct {
	from *etcd.Copy
	form etcd.Form
}

// openEtcd connects to etcd. Errors are those of etcd.OpenCopy.
func openEtcd(ctx context.Context, config etcd.Config) (*etcdSource, error) {
	from, err := etcd.OpenCopy(ctx, config)
	if err != nil {
		return nil, err
	}
	return &etcdSource{from, config.Form}, nil
}

// Name implements Source.
func (s *etcdSource) Name() string { return s.from.Source() }

// Copy implements Source.
func (s *etcdSource) Copy(ctx context.Context, into *Copying) (uint64, error) {
	return s.from.Revision(), s.from.Each(ctx, false, func(item etcd.Item) error {
		if !isObject(item) {
			into.done.Others++
			return nil
		}
		v, err := s.form.Decode(item.Key, item.Data)
		if err != nil {
			into.LeaveOut(item.Key, fmt.Sprintf("%s: %v", item.Place, err))
			return nil
		}
		return into.Put(item.Key, item.Revision, v)
	})
}

// isObject reports whether an item of etcd is an object.
func isObject(item etcd.Item) bool { return item.Key != "" && !registry.IsRange(item.Key) }

// Keys implements Source.
func (s *etcdSource) Keys(ctx context.Context, into *Digests) error {
	return s.from.Each(ctx, true, func(item etcd.Item) error {
		if isObject(item) {
			into.Add(item.Key, item.Revision)
		}
		return nil
	})
}

// Close implements Source.
func (s *etcdSource) Close() error { return s.from.Close() }
