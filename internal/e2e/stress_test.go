package e2e

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
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

// crashWriter writes objects of its own, and some that all writers share.
type crashWriter struct {
	*crashes
	r     *rand.Rand
	n     int
	known map[string]string // resourceVersions
}

// write does a random write. It returns false when the server did not answer.
func (w *crashWriter) write() bool {
	name := fmt.Sprintf("own-%d-%d", w.n, w.r.IntN(3))
	if w.r.IntN(3) == 0 {
		name = fmt.Sprintf("shared-%d", w.r.IntN(3))
	}
	mark := fmt.Sprint("m", w.writes.Add(1))
	object := &corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{markOf: mark}}}
	object.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: mark}}
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	templates := w.client.CoreV1().PodTemplates("default")
	var err error
	deleted := false
	switch w.r.IntN(4) {
	case 0:
		object, err = templates.Create(ctx, object, metav1.CreateOptions{})
	case 1:
		object.ResourceVersion = w.known[name]
		object, err = templates.Update(ctx, object, metav1.UpdateOptions{})
	case 2:
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, markOf, mark)
		object, err = templates.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	case 3:
		deleted = true
		object = &corev1.PodTemplate{}
		err = w.client.CoreV1().RESTClient().Delete().Namespace("default").Resource("podtemplates").Name(name).Do(ctx).Into(object)
	}
	var status apierrors.APIStatus
	switch {
	case err == nil:
		w.known[name] = object.ResourceVersion
		w.acknowledge(see(object, deleted))
		return true
	case errors.As(err, &status) && status.Status().Code >= 400 && status.Status().Code < 500:
		return true // refused, and so not done
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if deleted {
		w.deletions[name] = true
	} else {
		w.marks[mark] = true
	}
	return false
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

// readSeen reads a watch until visit returns false or the stream ends, cleanly or not.
// The error is one of the server's events.
func readSeen(stream io.Reader, visit func(seen) bool) error {
	lines := bufio.NewReader(stream)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil // the server is gone
		}
		var event struct {
			Type   string
			Object runtime.RawExtension
		}
		var object corev1.PodTemplate
		if err := json.Unmarshal(line, &event); err != nil {
			return fmt.Errorf("event %.300s: %w", line, err)
		}
		if _, _, err := scheme.Codecs.UniversalDeserializer().Decode(event.Object.Raw, nil, &object); err != nil {
			return fmt.Errorf("event %.300s: %w", line, err)
		}
		if !visit(see(&object, event.Type == "DELETED")) {
			return nil
		}
	}
}

// check compares the server's content after a crash with the ledger.
func (c *crashes) check(r *rand.Rand) {
	c.t.Helper()
	ctx := testContext(c.t)
	list, err := c.client.CoreV1().PodTemplates("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	c.checkListed(list.ResourceVersion)
	// This object is newer than everything before, so that a watch that shows it has
	// shown everything.
	probe, err := c.client.CoreV1().PodTemplates("default").Create(ctx, &corev1.PodTemplate{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "probe-"},
		Template:   corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}},
	}, metav1.CreateOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	newest := see(probe, false)
	c.acknowledge(newest)
	events := c.await(ctx, newest.revision)

	c.checkOrder(events)
	c.checkWrites(events)
	c.checkList(events, list)
	c.checkResumed(events, r)
}

// await waits until the watch has shown a revision, and returns all its events.
func (c *crashes) await(ctx context.Context, revision uint64) []seen {
	for {
		c.eventsMu.Lock()
		events := slices.Clone(c.events)
		if n := len(events); n > 0 && events[n-1].revision >= revision {
			c.eventsMu.Unlock()
			return events
		}
		if c.eventMoved == nil {
			c.eventMoved = make(chan struct{})
		}
		moved := c.eventMoved
		c.eventsMu.Unlock()
		select {
		case <-moved:
		case <-ctx.Done():
			c.t.Fatalf("the watch does not show revision %d, it is at %d\n%s", revision, c.last(), c.server.log.String())
		}
	}
}

// checkListed: a list is not older than the writes acknowledged before the crash.
func (c *crashes) checkListed(revision string) {
	at, err := strconv.ParseUint(revision, 10, 64)
	if err != nil {
		c.t.Fatal(err)
	}
	for revision, s := range c.acknowledged {
		if revision > at {
			c.t.Errorf("the list after the crash is at %d, %+v was acknowledged before", at, s)
		}
	}
}

// checkOrder: revisions increase from one event to the next, through all crashes.
func (c *crashes) checkOrder(events []seen) {
	for i := 1; i < len(events); i++ {
		if events[i].revision <= events[i-1].revision {
			c.t.Errorf("the watch showed %+v after %+v", events[i], events[i-1])
		}
	}
}

// checkWrites: every acknowledged write was shown as it was acknowledged, and all other
// events are of unanswered writes.
func (c *crashes) checkWrites(events []seen) {
	shown := make(map[uint64]seen)
	last := make(map[string]uint64)  // revision of the newest state of an object
	ended := make(map[uint64]uint64) // revisions of deletions, by that of the state that was deleted
	for _, s := range events {
		shown[s.revision] = s
		state := last[s.name]
		last[s.name] = s.revision
		if s.deleted {
			ended[state] = s.revision
			if _, known := c.ended[state]; known || c.deletions[s.name] {
				continue
			}
		} else if _, known := c.acknowledged[s.revision]; known || c.marks[s.mark] {
			continue
		}
		c.t.Errorf("nobody did what the watch shows: %+v", s)
	}
	for revision, s := range c.acknowledged {
		if shown[revision] != s {
			c.t.Errorf("%+v was acknowledged, the watch shows %+v at its revision", s, shown[revision])
		}
	}
	for revision, s := range c.ended {
		end := shown[ended[revision]]
		if s.revision = end.revision; end != s || s.revision == 0 {
			c.t.Errorf("the end of %+v at revision %d was acknowledged, the watch shows %+v", s, revision, end)
		}
	}
}

// checkList: the list is the sum of the events up to its revision.
func (c *crashes) checkList(events []seen, list *corev1.PodTemplateList) {
	at, _ := strconv.ParseUint(list.ResourceVersion, 10, 64)
	want := make(map[string]seen)
	for _, s := range events {
		if s.revision > at {
			break
		}
		if s.deleted {
			delete(want, s.name)
		} else {
			want[s.name] = s
		}
	}
	for i := range list.Items {
		got := see(&list.Items[i], false)
		if want[got.name] != got {
			c.t.Errorf("after the crash there is %+v, want %+v", got, want[got.name])
		}
		delete(want, got.name)
	}
	for _, s := range want {
		c.t.Errorf("after the crash there is no %+v", s)
	}
}

// checkResumed: a watch from any revision that was seen before gives the rest.
func (c *crashes) checkResumed(events []seen, r *rand.Rand) {
	from := r.IntN(len(events))
	rest := events[from+1:]
	if len(rest) == 0 {
		return
	}
	stream := c.watch(events[from].revision)
	defer stream.Close()
	timer := time.AfterFunc(startLimit, func() { _ = stream.Close() })
	defer timer.Stop()
	err := readSeen(stream, func(s seen) bool {
		if s != rest[0] {
			c.t.Errorf("a watch after %d shows %+v, want %+v", events[from].revision, s, rest[0])
			return false
		}
		rest = rest[1:]
		return len(rest) > 0
	})
	if err != nil || len(rest) > 0 {
		c.t.Errorf("a watch after %d lacks %d of %d events (%v)", events[from].revision, len(rest), len(events)-from-1, err)
	}
}
