package scale

import (
	"context"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// inEtcd keeps objects in an etcd: one transaction for each write, which is over when a watch has shown
// it.
type inEtcd struct {
	client *clientv3.Client

	mu      sync.Mutex
	shown   int64 // the revision up to which the watch has shown everything
	waiting map[int64]chan struct{}
}

func openEtcd(url string) (*inEtcd, error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{url}, Logger: zap.NewNop()})
	if err != nil {
		return nil, err
	}
	e := &inEtcd{client: client, waiting: map[int64]chan struct{}{}}
	created := make(chan struct{})
	go e.follow(created)
	<-created
	return e, nil
}

// follow reads the watch until the process is killed.
func (e *inEtcd) follow(created chan struct{}) {
	for r := range e.client.Watch(context.Background(), "/", clientv3.WithPrefix(), clientv3.WithCreatedNotify()) {
		must(r.Err())
		if r.Created {
			close(created)
			continue
		}
		e.mu.Lock()
		e.shown = r.Header.Revision
		for revision, done := range e.waiting {
			if revision <= e.shown {
				close(done)
				delete(e.waiting, revision)
			}
		}
		e.mu.Unlock()
	}
}

// await returns when the watch has shown a revision, which one write has.
func (e *inEtcd) await(revision int64) {
	e.mu.Lock()
	if revision <= e.shown {
		e.mu.Unlock()
		return
	}
	done := make(chan struct{})
	e.waiting[revision] = done
	e.mu.Unlock()
	<-done
}

func (e *inEtcd) set(key string, value []byte) error {
	return e.commit(clientv3.OpPut(key, string(value)))
}

func (e *inEtcd) remove(key string) error { return e.commit(clientv3.OpDelete(key)) }

func (e *inEtcd) commit(op clientv3.Op) error {
	answer, err := e.client.Txn(context.Background()).If(clientv3.Compare(clientv3.ModRevision(string(op.KeyBytes())), ">", -1)).Then(op).Commit()
	if err == nil {
		e.await(answer.Header.Revision)
	}
	return err
}
