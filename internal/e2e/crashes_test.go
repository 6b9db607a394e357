package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
)

// crashWriter writes objects of its own, and some that all writers share.
type crashWriter struct {
	*crashes
	r     *rand.Rand
	n     int
	known map[string]string // resourceVersions
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
