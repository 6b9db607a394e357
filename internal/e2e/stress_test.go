package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
)

// TestKilled kills the server in the middle of writes, again and again, and now
// and then once more while it starts. Every write that was acknowledged is there
// afterwards, or was replaced by a later one; no revision is used twice; a watch
// from before goes on where it was. CAPSTAN_STRESS has it take 50 cycles,
// CAPSTAN_SEED repeats the random choices of an earlier run.
func TestKilled(t *testing.T) {
	cycles, writes := 3, 200 // most writes of a cycle
	if os.Getenv("CAPSTAN_STRESS") != "" {
		cycles, writes = 50, 1000
	}
	seed := rand.Uint64()
	if text := os.Getenv("CAPSTAN_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("CAPSTAN_SEED: %v", err)
		}
	}
	t.Logf("CAPSTAN_SEED=%d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	c := &crashes{t: t, dir: t.TempDir(), acknowledged: make(map[uint64]seen), ended: make(map[uint64]seen), marks: make(map[string]bool), deletions: make(map[string]bool)}
	c.start()
	c.follow()
	for cycle := range cycles {
		c.load(seed, uint64(cycle), 50+r.IntN(writes))
		if r.IntN(3) == 0 {
			c.stillborn(time.Duration(r.IntN(80)) * time.Millisecond)
		}
		c.start()
		c.follow()
		c.check(r)
		if t.Failed() {
			t.Fatalf("in cycle %d", cycle)
		}
	}
	t.Logf("%d cycles: %d writes acknowledged, %d unanswered, %d events", cycles, len(c.acknowledged)+len(c.ended), len(c.marks)+len(c.deletions), len(c.events))
}

// seen is a state of an object that a client was shown, or its deletion.
type seen struct {
	name, mark, digest string
	revision           uint64
	deleted            bool
}

// markOf is the annotation that identifies the write that made a state.
const markOf = "capstan.test/mark"

func see(p *corev1.PodTemplate, deleted bool) seen {
	revision, _ := strconv.ParseUint(p.ResourceVersion, 10, 64) // 0 is never acknowledged
	text, _ := json.Marshal([]any{p.UID, p.Labels, p.Annotations, p.Template})
	sum := sha256.Sum256(text)
	return seen{p.Name, p.Annotations[markOf], hex.EncodeToString(sum[:8]), revision, deleted}
}

// crashes is a data directory, the servers that run on it one after the other,
// and the ledger that their clients keep.
//
// The clients write pod templates: nothing in the server changes them, and deleting one
// is answered with its last state, at the revision that it had.
type crashes struct {
	t      *testing.T
	dir    string
	server *instance
	client *kubernetes.Clientset
	writes atomic.Int64

	mu           sync.Mutex      // guards the fields below
	acknowledged map[uint64]seen // states, by the revision that made them
	ended        map[uint64]seen // states that were deleted, by the revision that had made them
	marks        map[string]bool // of writes without an answer
	deletions    map[string]bool // names of objects that were to be deleted, without an answer

	watching   sync.WaitGroup
	eventsMu   sync.Mutex
	events     []seen        // of all watches, each of which continues the one before
	eventMoved chan struct{} // closed when there is one more
}

// start runs a server on the data directory.
func (c *crashes) start() {
	c.t.Helper()
	var err error
	if c.server, err = start(c.dir); err != nil {
		c.t.Fatal(err)
	}
	server := c.server
	c.t.Cleanup(func() { _ = server.end(syscall.SIGKILL) })
	c.client = server.client(c.t)
}

// stillborn starts the server and kills it before it serves, or about then.
func (c *crashes) stillborn(after time.Duration) {
	cmd := exec.Command(binaries.capstan, "serve", "--data-dir", c.dir, "--secure-port", "0")
	if err := cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	time.Sleep(after) // any moment will do
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// load lets writers work until enough writes are acknowledged, kills the server
// under them, and waits until all of them and the watch have noticed.
func (c *crashes) load(seed, cycle uint64, enough int) {
	reached := make(chan struct{})
	var count atomic.Int64
	var group sync.WaitGroup
	for n := range 6 {
		group.Go(func() {
			w := crashWriter{c, rand.New(rand.NewPCG(seed, cycle<<8|uint64(n+1))), n, make(map[string]string)}
			for w.write() {
				if count.Add(1) == int64(enough) {
					close(reached)
				}
			}
		})
	}
	ended := make(chan struct{})
	go func() { group.Wait(); close(ended) }()
	select {
	case <-reached:
	case <-ended:
		c.t.Fatalf("the writers ended before the server was killed\n%s", c.server.log.String())
	}
	_ = c.server.end(syscall.SIGKILL)
	<-ended
	c.watching.Wait()
}

// acknowledge puts a write into the ledger, which has one entry per revision, and ends
// once.
func (c *crashes) acknowledge(s seen) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ledger := c.acknowledged
	if s.deleted {
		ledger = c.ended
	}
	if before, used := ledger[s.revision]; used || s.revision == 0 {
		c.t.Errorf("%+v was acknowledged at a revision that was used for %+v", s, before)
	}
	ledger[s.revision] = s
}

// follow watches from the last revision that was seen, until the server is gone.
func (c *crashes) follow() {
	stream := c.watch(c.last())
	c.watching.Go(func() {
		defer stream.Close()
		err := readSeen(stream, func(s seen) bool {
			c.eventsMu.Lock()
			defer c.eventsMu.Unlock()
			c.events = append(c.events, s)
			if c.eventMoved != nil {
				close(c.eventMoved)
				c.eventMoved = nil
			}
			return true
		})
		if err != nil {
			c.t.Error(err)
		}
	})
}

func (c *crashes) last() uint64 {
	c.eventsMu.Lock()
	defer c.eventsMu.Unlock()
	if len(c.events) == 0 {
		return 1
	}
	return c.events[len(c.events)-1].revision
}

// watch opens a watch after a revision, which is always kept: history is longer
// than this test.
func (c *crashes) watch(after uint64) io.ReadCloser {
	stream, err := c.client.CoreV1().RESTClient().Get().Namespace("default").Resource("podtemplates").
		Param("watch", "true").Param("resourceVersion", fmt.Sprint(after)).Stream(context.Background())
	if err != nil {
		c.t.Fatalf("watch after %d: %v", after, err)
	}
	return stream
}
