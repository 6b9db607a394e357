package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/capstan-dev/capstan/internal/store"
)

// Config says where etcd is, and where its replica.
type Config struct {
	// Endpoints are the URLs of etcd's members.
	Endpoints []string
	// TLS has the authorities of etcd and the certificate of the client; nil for none.
	TLS *tls.Config
	// Prefix is the beginning of all keys, without a slash at its end: "/registry".
	Prefix string
	// Form is how objects lie in etcd.
	Form Form
	// FormID is a fingerprint of the form in the replica. A replica of another one is made anew.
	FormID string
	// Lives is the time after its last write after which a value vanishes; 0 for never. nil means
	// never.
	Lives func(key string) time.Duration
	// Reuse is the time in which such values get the same lease. 0 means a minute.
	Reuse time.Duration
	// Observe receives the operation of each request to etcd (get, create, update, delete, or
	// txn for several), its key ("" for none), and its time. nil means nobody does.
	Observe func(operation, key string, took time.Duration)
	// Compaction is the time between compactions of etcd's history; 0 means that others compact.
	Compaction time.Duration
	// Size receives the bytes of the database of each member, once in each SizeInterval; 0 means
	// that no member is asked.
	Size         func(member string, bytes int64)
	SizeInterval time.Duration
	// Replica is the place of the replica, and its bounds.
	Replica store.Config
	// Patience is the time for which the replica waits at a value whose key its key management service
	// refuses to decrypt. It begins anew ten times that later. 0 means 30 s.
	Patience time.Duration
	// Timeout bounds one question to etcd. 0 means 5 s.
	Timeout time.Duration
	// Logger receives warnings and errors; nil means none.
	Logger *slog.Logger
}

// Engine is the Store that keeps everything in etcd. Open makes one.
//
// Invariants: only follow writes the replica, so that its revisions only rise. The lock of a key
// saves evaluations that other writes of this server would make useless; what is written depends
// on the comparisons of the transaction alone.
type Engine struct {
	cfg          Config
	client       *clientv3.Client
	transactions etcdserverpb.KVClient // of the client, for writes
	replica      *store.Engine
	locks        store.KeyLocks
	newest       newest
	writing      writing
	own          ownWrites
	unreadables  unreadables
	space        space
	leases       leases
	present      atomic.Int64 // the lease of the record of this server
	cluster      uint64       // of etcd
	other        atomic.Bool  // another etcd answers, or an older state of it
	refused      time.Time    // when a service first refused a key; for follow
	health       health
	nudges       chan struct{} // from reads that wait for a revision

	suspicions chan struct{} // that a member does not answer
	renewals   chan struct{} // of the watch

	stop    context.CancelFunc
	stopped chan struct{} // closed when follow has ended
	chores  sync.WaitGroup
	once    sync.Once
	err     error // of Close
}

var _ store.Store = (*Engine)(nil)

// dialTimeout bounds the connection to a member, keepAlive finds dead connections.
const (
	dialTimeout      = 5 * time.Second
	keepAlive        = 10 * time.Second // the least one
	keepAliveTimeout = 3 * time.Second
	usualTimeout     = 5 * time.Second
	usualPatience    = 30 * time.Second
	writeTimeout     = 2500 * time.Millisecond // where etcd has several members
)

// reconnect has a lost connection tried again in pauses of at most longestPause; those of gRPC's default grow to two minutes.
var reconnect = grpc.ConnectParams{MinConnectTimeout: dialTimeout,
	Backoff: backoff.Config{BaseDelay: firstPause, Multiplier: 1.6, Jitter: 0.2, MaxDelay: longestPause}}

// The bytes that etcd may send ahead in one answer, or watch, and in all of a connection. With windows that
// fit themselves to the network, gRPC would send a ping for most of the messages that it receives.
const (
	streamWindow     = 1 << 20
	connectionWindow = 4 << 20
)

// Open connects to etcd and follows it into the replica. It returns when the replica has the state
// of the moment in which Open began. Errors: those of the connection, in words that name the
// setting; those of the replica's folder.
func Open(ctx context.Context, cfg Config) (*Engine, error) {
	e, err := connect(cfg)
	if err != nil {
		return nil, err
	}
	at, err := e.greet(ctx)
	if err == nil {
		err = e.mayWrite(ctx)
	}
	if err == nil {
		err = e.openReplica(ctx, at)
	}
	if err != nil {
		return nil, errors.Join(err, e.client.Close())
	}
	e.cluster = at.cluster
	following, stop := context.WithCancel(context.Background())
	e.stop = stop
	go e.follow(following)
	e.chores.Go(func() { e.compact(following, cfg.Compaction) })
	e.chores.Go(func() { e.awaitSpace(following) })
	e.chores.Go(func() { e.retry(following) })
	if e.several() {
		e.chores.Go(func() { e.guardMembers(following) })
	}
	if cfg.SizeInterval > 0 {
		for _, member := range cfg.Endpoints {
			e.chores.Go(func() { e.measure(following, member) })
		}
	}
	if err := e.reach(ctx, at.revision); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// connect makes the client. It does not wait for a connection.
func connect(cfg Config) (*Engine, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = usualTimeout
	}
	if cfg.Patience == 0 {
		cfg.Patience = usualPatience
	}
	if cfg.Observe == nil {
		cfg.Observe = func(string, string, time.Duration) {}
	}
	if cfg.Reuse == 0 {
		cfg.Reuse = time.Minute
	}
	client, err := clientv3.New(clientv3.Config{Endpoints: cfg.Endpoints, TLS: cfg.TLS, DialTimeout: dialTimeout,
		DialKeepAliveTime: keepAlive, DialKeepAliveTimeout: keepAliveTimeout, Logger: zap.NewNop(),
		DialOptions: []grpc.DialOption{grpc.WithInitialWindowSize(streamWindow), grpc.WithInitialConnWindowSize(connectionWindow),
			grpc.WithDefaultCallOptions(grpc.ForceCodecV2(messageCodec{})), grpc.WithConnectParams(reconnect)}})
	if err != nil {
		return nil, fmt.Errorf("etcd: the URLs of its members are wrong: %w", err)
	}
	return &Engine{cfg: cfg, client: client, transactions: clientv3.RetryKVClient(client),
		nudges: make(chan struct{}, 1), suspicions: make(chan struct{}, 1), renewals: make(chan struct{}, 1),
		space: space{filled: make(chan struct{}, 1)}, unreadables: unreadables{noted: make(chan struct{}, 1)}, stopped: make(chan struct{})}, nil
}

// greeting is the answer of etcd to the first questions.
type greeting struct {
	cluster  uint64
	source   string // the cluster, the prefix and the form
	revision uint64
}

// greet asks etcd who it is. One member that answers is enough.
func (e *Engine) greet(ctx context.Context) (at greeting, err error) {
	if e.several() {
		e.chooseMembers(ctx)
	}
	var failures []error
	for _, member := range e.client.Endpoints() {
		if at, err = e.greetMember(ctx, member); err == nil {
			return at, nil
		}
		failures = append(failures, err)
	}
	return at, errors.Join(failures...)
}

// greetMember asks one member, and refuses it if it is too old.
func (e *Engine) greetMember(ctx context.Context, member string) (greeting, error) {
	asked, cancel := context.WithTimeout(ctx, e.cfg.Timeout)
	defer cancel()
	status, err := e.client.Status(asked, member)
	if err != nil {
		return greeting{}, e.unanswered(ctx, member, err)
	}
	var major, minor int
	if _, err := fmt.Sscanf(status.Version, "%d.%d", &major, &minor); err != nil || major < 3 || major == 3 && minor < 5 {
		return greeting{}, fmt.Errorf("etcd: %s is of release %q; 3.5 is the oldest one that works", member, status.Version)
	}
	now, err := e.client.Get(asked, e.cfg.Prefix+"/", clientv3.WithLimit(1), clientv3.WithKeysOnly())
	if err != nil {
		return greeting{}, fmt.Errorf("etcd: keys below %s/ cannot be read: %w; compare the rights of the user of --etcd-certfile", e.cfg.Prefix, err)
	}
	source := strings.TrimSpace(fmt.Sprintf("%016x %s %s", now.Header.ClusterId, e.cfg.Prefix, e.cfg.FormID))
	return greeting{now.Header.ClusterId, source, uint64(now.Header.Revision)}, nil
}

// openReplica opens the replica, or makes it anew when it is of another cluster or from the future
// of one that was restored from a backup.
func (e *Engine) openReplica(ctx context.Context, at greeting) (err error) {
	e.cfg.Replica.Replica = true
	if e.replica, err = store.Open(e.cfg.Replica); err != nil {
		return err
	}
	source, err := e.replica.Source()
	if err != nil {
		return errors.Join(err, e.replica.Close())
	}
	if source == at.source && e.replica.Current() <= at.revision {
		if err := e.unreadables.find(ctx, e.replica); err != nil {
			return errors.Join(err, e.replica.Close())
		}
		return nil
	}
	if source != "" {
		e.cfg.Logger.Warn("etcd: the replica is not one of this etcd's state, it is made anew", "replica", source, "revision", e.replica.Current(),
			"etcd", at.source, "newest", at.revision)
	}
	if err := e.replica.Close(); err != nil {
		return err
	}
	if err := e.cfg.Replica.Remove(); err != nil {
		return err
	}
	if e.replica, err = store.Open(e.cfg.Replica); err != nil {
		return err
	}
	if err := e.load(ctx, at); err != nil {
		return errors.Join(err, e.replica.Close())
	}
	return nil
}

// Close implements store.Store.
func (e *Engine) Close() error {
	e.once.Do(func() {
		e.writing.close()
		last, cancel := context.WithTimeout(context.Background(), time.Second)
		e.leave(last)
		cancel()
		e.stop()
		<-e.stopped
		e.chores.Wait()
		e.err = errors.Join(e.replica.Close(), e.client.Close())
	})
	return e.err
}

// place is the key in etcd of a key.
func (e *Engine) place(key string) string { return e.cfg.Prefix + e.cfg.Form.Place(key) }

// key is the key of a place in etcd; "" and false for what others keep there.
func (e *Engine) key(place []byte) (string, bool) {
	if rest, ok := strings.CutPrefix(string(place), e.cfg.Prefix); ok {
		if key, ok := e.cfg.Form.Key(rest); ok {
			return key, true
		}
	}
	return "", false
}

// Current implements store.Revisions: the newest revision that the replica has.
func (e *Engine) Current() uint64 { return e.replica.Current() }

// Oldest implements store.Revisions.
func (e *Engine) Oldest() uint64 { return e.replica.Oldest() }

// Newest implements store.Revisions.
func (e *Engine) Newest(ctx context.Context) (uint64, error) {
	if err := e.reachNewest(ctx); err != nil {
		return 0, err
	}
	e.replica.Announced()
	return e.replica.Current(), nil
}

// WaitFor implements store.Revisions.
func (e *Engine) WaitFor(ctx context.Context, revision uint64) error { return e.reach(ctx, revision) }

// At implements store.Snapshots. The newest state is that of etcd when At was called, or a later
// one.
func (e *Engine) At(ctx context.Context, at uint64) (store.Reader, error) {
	if at == 0 || e.other.Load() {
		if err := e.reachNewest(ctx); err != nil {
			return nil, err
		}
	}
	return e.unreadables.view(e.replica.At(ctx, at))
}

// Get implements store.Snapshots.
func (e *Engine) Get(ctx context.Context, key string) (store.Entry, error) {
	if err := e.reachNewest(ctx); err != nil {
		return store.Entry{}, err
	}
	return e.get(ctx, key)
}

// Replica is the server's own copy.
func (e *Engine) Replica() *store.Engine { return e.replica }

// Trim removes the history of the replica before a revision: see store.Engine.Trim.
func (e *Engine) Trim(ctx context.Context, upTo uint64) error { return e.replica.Trim(ctx, upTo) }

// Check reports the defects of the replica: see store.Engine.Check.
func (e *Engine) Check(ctx context.Context, report func(problem string)) error {
	return e.replica.Check(ctx, report)
}

// Changes implements store.Feed.
func (e *Engine) Changes(ctx context.Context, prefix string, after uint64, visit func(c *store.Change) bool) (uint64, error) {
	return e.replica.Changes(ctx, prefix, after, visit)
}

// Subscribe implements store.Feed.
func (e *Engine) Subscribe(turn store.Turn, fn func(store.Batch)) (current uint64, cancel func()) {
	return e.replica.Subscribe(turn, fn)
}

// Healthy implements store.Store.
func (e *Engine) Healthy() error {
	if e.other.Load() {
		return errOther
	}
	if e.space.full.Load() {
		return errors.Join(errNoSpace, e.replica.Healthy(), e.health.failure())
	}
	return errors.Join(e.replica.Healthy(), e.health.failure())
}

// errOther: etcd was restored from a backup, or is another one, since the server began.
var errOther = errors.New("etcd: another etcd answers, or an older state of it: nothing is read or written; restart this server, which makes its replica anew")

// same checks an answer of etcd: it is of the cluster of the begin, and not older than what the
// replica had before the question. Else nothing is served any more.
func (e *Engine) same(h *etcdserverpb.ResponseHeader, had uint64) error {
	if h.ClusterId == e.cluster && uint64(h.Revision) >= had {
		return nil
	}
	if !e.other.Swap(true) {
		e.cfg.Logger.Error(errOther.Error(), "cluster", h.ClusterId, "cluster before", e.cluster, "revision", h.Revision, "replica", had)
	}
	return errOther
}
