package objects_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

const eventsPath = "/api/v1/namespaces/default/events"

func revisionOf(t *testing.T, r harness.Reply) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(r.Field(t, "metadata.resourceVersion").(string), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The expiry of an object spares a newer state, ignores finalizers, and asks no webhook.
// Watchers see the last state at a revision of its own.
func TestExpiryIsAWrite(t *testing.T) {
	h := harness.Start(t, nil)
	const key = "core/events/default/e"
	expire := func(since uint64) {
		t.Helper()
		if err := h.Running.Expire(t.Context(), key, since); err != nil {
			t.Fatal(err)
		}
	}
	for _, reviewed := range []bool{false, true} {
		v := harness.NewReviewer(t, func(_ string, _, response map[string]any) { response["allowed"] = false })
		if reviewed { // the evaluation is not made under the key's lock
			h.ValidateBy(v, "deletes", harness.ReviewRule(`"DELETE"`, "", "v1", "events"), "")
		}
		made := revisionOf(t, h.Post(eventsPath, `{"metadata":{"name":"e","finalizers":["a.b/c"]},"involvedObject":{"namespace":"default"}}`))
		w := h.Watch(fmt.Sprintf("%s?watch=1&resourceVersion=%d", eventsPath, made))
		changed := revisionOf(t, h.MergePatch(eventsPath+"/e", `{"count":7}`))
		w.Expect("MODIFIED e")
		expire(made)
		h.Get(eventsPath+"/e").Has(t, `"count":7`)
		expire(changed)
		last := w.Expect("DELETED e")
		if !bytes.Contains(last.Object, []byte(`"count":7`)) || last.Meta.Metadata.ResourceVersion == fmt.Sprint(changed) {
			t.Errorf("the last state is %s", last.Object)
		}
		h.Get(eventsPath+"/e").Expect(t, http.StatusNotFound, "")
		expire(changed) // it is gone
		if text, n := v.Last(); n != 0 {
			t.Errorf("a webhook was asked: %s", text)
		}
	}
}

// An event that is written while it expires is either removed before the write, or stays.
func TestExpiryBesideWriters(t *testing.T) {
	h := harness.Start(t, nil)
	var all sync.WaitGroup
	for i := range 8 {
		name := fmt.Sprint("e", i)
		all.Go(func() {
			for n := range 20 {
				made := h.Post(eventsPath, `{"metadata":{"name":"`+name+`"},"involvedObject":{"namespace":"default"}}`)
				made.Expect(t, http.StatusCreated, "")
				since := revisionOf(t, made)
				var expired sync.WaitGroup
				expired.Go(func() {
					if err := h.Running.Expire(t.Context(), "core/events/default/"+name, since); err != nil {
						t.Error(err)
					}
				})
				changed := h.Send("PATCH", eventsPath+"/"+name, harness.MergePatchMedia, fmt.Appendf(nil, `{"count":%d}`, n+1))
				expired.Wait()
				left := h.Get(eventsPath + "/" + name)
				if changed.Code == http.StatusOK && left.Code != http.StatusOK || changed.Code != http.StatusOK && left.Code != http.StatusNotFound {
					t.Errorf("a change was answered with %d, and a read with %d", changed.Code, left.Code)
				}
				h.Remove(eventsPath+"/"+name, "")
			}
		})
	}
	all.Wait()
}

// A namespace that ends does not wait longer for an event than until the event's time is
// over.
func TestExpiryInEndingNamespace(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { c.Controllers = []string{"*"} })
	h.Create("/api/v1/namespaces", `{"metadata":{"name":"ends"}}`)
	const events = "/api/v1/namespaces/ends/events"
	since := revisionOf(t, h.Post(events, `{"metadata":{"name":"e","finalizers":["a.b/c"]},"involvedObject":{"namespace":"ends"}}`))
	h.Remove("/api/v1/namespaces/ends", "").Expect(t, http.StatusOK, "")
	marked := h.Await(events, func(o harness.Contents) bool { return o.In("e", "metadata.deletionTimestamp") != nil })
	if err := h.Running.Expire(t.Context(), "core/events/ends/e", since); err != nil {
		t.Fatal(err)
	}
	h.Get(events+"/e").Has(t, `"deletionTimestamp":"`) // it was written since
	now, err := strconv.ParseUint(marked.In("e", "metadata.resourceVersion").(string), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Running.Expire(t.Context(), "core/events/ends/e", now); err != nil {
		t.Fatal(err)
	}
	h.AwaitGone("/api/v1/namespaces", "ends")
}

// An event whose record cannot be decrypted expires as others do.
func TestUnreadableEventsExpire(t *testing.T) {
	dir := t.TempDir()
	start := func(letter string) *harness.Server {
		file := harness.EncryptionConfig(t, harness.AESKeys(letter))
		text, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(file, []byte(strings.Replace(string(text), "[secrets]", "[events]", 1)), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return harness.Start(t, func(c *server.Config) { c.InMemory, c.DataDir, c.EncryptionConfigFile = false, dir, file })
	}
	h := start("1")
	made := revisionOf(t, h.Post(eventsPath, `{"metadata":{"name":"e"},"involvedObject":{"namespace":"default"}}`))
	if err := h.Running.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	h = start("2")
	h.Get(eventsPath+"/e").Expect(t, http.StatusInternalServerError, "InternalError")
	if err := h.Running.Expire(t.Context(), "core/events/default/e", made-1); err == nil {
		t.Error("an object that was written since, and cannot be read, expires without an error")
	}
	h.Get(eventsPath+"/e").Expect(t, http.StatusInternalServerError, "InternalError")
	if err := h.Running.Expire(t.Context(), "core/events/default/e", made); err != nil {
		t.Error(err)
	}
	h.Get(eventsPath+"/e").Expect(t, http.StatusNotFound, "")
}
