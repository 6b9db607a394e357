package e2e

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// A candidate that cannot renew its lease stops some seconds before the next one may lead.
const (
	leaseDuration = 10 * time.Second
	renewDeadline = 5 * time.Second
)

// candidate runs for a lease until it is stopped or loses it.
type candidate struct {
	name string
	stop context.CancelFunc
	gone chan struct{} // closed when it has ended
	cut  atomic.Bool   // its requests fail
	// busy is held for reading by requests. A candidate stopped amid a request does not
	// know whether it renewed, and cannot release.
	busy sync.RWMutex
}

// release makes the candidate give up its lease.
func (c *candidate) release() {
	c.busy.Lock()
	defer c.busy.Unlock()
	c.stop()
}

var errCut = errors.New("the network is gone")

// roundTrip is an http.RoundTripper.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// stand makes a candidate run. Its messages go to said.
func (i *instance) stand(t *testing.T, name string, said chan<- string) *candidate {
	t.Helper()
	ctx, stop := context.WithCancel(testContext(t))
	c := &candidate{name: name, stop: stop, gone: make(chan struct{})}
	config := i.config(t)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			if c.cut.Load() {
				return nil, errCut
			}
			c.busy.RLock()
			defer c.busy.RUnlock()
			resp, err := next.RoundTrip(r)
			if err != nil {
				return nil, err
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			resp.Body = io.NopCloser(bytes.NewReader(body))
			return resp, err
		})
	})
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Name: "suite",
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: "default", Name: "suite"},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: name},
		},
		LeaseDuration: leaseDuration, RenewDeadline: renewDeadline, RetryPeriod: 100 * time.Millisecond,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { said <- name + " leads" },
			OnStoppedLeading: func() { said <- name + " stopped" },
			OnNewLeader: func(leader string) {
				if leader != name {
					said <- name + " follows " + leader
				}
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(c.gone)
		elector.Run(ctx)
	}()
	t.Cleanup(func() {
		c.stop()
		<-c.gone
	})
	return c
}

// TestLeaderElection hands a lease over: when its holder gives it up, and when
// its holder cannot renew it any more.
func TestLeaderElection(t *testing.T) {
	t.Parallel()
	server := serve(t, "")
	client := server.client(t)
	ctx := testContext(t)
	said := make(chan string, 100)
	next := func() string {
		t.Helper()
		select {
		case got := <-said:
			return got
		case <-ctx.Done():
			t.Fatal("nothing happened any more")
		}
		return ""
	}
	expect := func(want string) {
		t.Helper()
		if got := next(); got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	}
	holder := func(name string, transitions int32) {
		t.Helper()
		lease, err := client.CoordinationV1().Leases("default").Get(ctx, "suite", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if s := lease.Spec; s.HolderIdentity == nil || *s.HolderIdentity != name || s.LeaseTransitions == nil || *s.LeaseTransitions != transitions ||
			s.AcquireTime == nil || s.RenewTime == nil || s.RenewTime.Before(s.AcquireTime) || time.Duration(*s.LeaseDurationSeconds)*time.Second != leaseDuration {
			t.Errorf("the lease is %+v, want it held by %s after %d hand-overs", s, name, transitions)
		}
	}

	first := server.stand(t, "first", said)
	expect("first leads")
	holder("first", 0)
	second := server.stand(t, "second", said)
	expect("second follows first")

	// After a release the others do not wait for the lease to run out.
	released := time.Now()
	first.release()
	if got := []string{next(), next()}; !slices.Contains(got, "first stopped") || !slices.Contains(got, "second leads") {
		t.Fatalf("%q, want that the first one stops and the second one leads", got)
	}
	if took := time.Since(released); took > leaseDuration {
		t.Errorf("the hand-over took %s, as long as if the lease had run out", took)
	}
	holder("second", 1)

	// Lost: the holder stops before the other one starts.
	server.stand(t, "third", said)
	expect("third follows second")
	second.cut.Store(true)
	expect("second stopped")
	expect("third leads")
	holder("third", 2)
}
