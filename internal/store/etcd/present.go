package etcd

import (
	"context"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/capstan-dev/capstan/internal/store"
)

// presentTime is the time in seconds for which the record of a server that is not heard of stays.
const presentTime = 15

// presentPlace begins the keys of the records of servers, which are kube-apiserver's, too.
const presentPlace = "/masterleases/"

// Present implements shared.Store. The records are the leases of kube-apiserver's masters.
func (e *Engine) Present(ctx context.Context, name string, endpoints store.Value) ([]string, error) {
	data, err := e.cfg.Form.Encode("core/endpoints/default/"+name, endpoints)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, e.cfg.Timeout)
	defer cancel()
	lease, err := e.client.Grant(ctx, presentTime)
	if err != nil {
		return nil, e.plain(err)
	}
	before := clientv3.LeaseID(e.present.Swap(int64(lease.ID)))
	place := e.cfg.Prefix + presentPlace
	answer, err := e.client.Txn(ctx).Then(clientv3.OpPut(place+name, string(data), clientv3.WithLease(lease.ID)),
		clientv3.OpGet(place, clientv3.WithPrefix(), clientv3.WithKeysOnly())).Commit()
	if err != nil {
		return nil, e.plain(err)
	}
	if before != 0 {
		_, _ = e.client.Revoke(ctx, before) // else it ends by itself
	}
	var all []string
	for _, kv := range answer.Responses[1].GetResponseRange().Kvs {
		all = append(all, strings.TrimPrefix(string(kv.Key), place))
	}
	return all, nil
}

// leave removes the record of this server.
func (e *Engine) leave(ctx context.Context) {
	if id := e.present.Swap(0); id != 0 {
		_, _ = e.client.Revoke(ctx, clientv3.LeaseID(id)) // else it ends by itself
	}
}
