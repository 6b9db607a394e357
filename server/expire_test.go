package server_test

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
)

const eventsPath = "/api/v1/namespaces/default/events"

func revisionOf(t *testing.T, r reply) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(r.field(t, "metadata.resourceVersion").(string), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The expiry of an object spares a newer state, ignores finalizers, and asks no webhook.
// Watchers see the last state at a revision of its own.
func TestExpiryIsAWrite(t *testing.T) {
	h := startServer(t, nil)
	const key = "core/events/default/e"
	expire := func(since uint64) {
		t.Helper()
		if err := h.server.Expire(t.Context(), key, since); err != nil {
			t.Fatal(err)
		}
	}
	for _, reviewed := range []bool{false, true} {
		v := newReviewer(t, func(_ string, _, response map[string]any) { response["allowed"] = false })
		if reviewed { // the evaluation is not made under the key's lock
			h.validateBy(v, "deletes", reviewRule(`"DELETE"`, "", "v1", "events"), "")
		}
		made := revisionOf(t, h.post(eventsPath, `{"metadata":{"name":"e","finalizers":["a.b/c"]},"involvedObject":{"namespace":"default"}}`))
		w := h.watch(fmt.Sprintf("%s?watch=1&resourceVersion=%d", eventsPath, made))
		changed := revisionOf(t, h.mergePatch(eventsPath+"/e", `{"count":7}`))
		w.expect("MODIFIED e")
		expire(made)
		h.get(eventsPath+"/e").has(t, `"count":7`)
		expire(changed)
		last := w.expect("DELETED e")
		if !bytes.Contains(last.Object, []byte(`"count":7`)) || last.meta.Metadata.ResourceVersion == fmt.Sprint(changed) {
			t.Errorf("the last state is %s", last.Object)
		}
		h.get(eventsPath+"/e").expect(t, http.StatusNotFound, "")
		expire(changed) // it is gone
		if text, n := v.last(); n != 0 {
			t.Errorf("a webhook was asked: %s", text)
		}
	}
}

// An event that is written while it expires is either removed before the write, or stays.
func TestExpiryBesideWriters(t *testing.T) {
	h := startServer(t, nil)
	var all sync.WaitGroup
	for i := range 8 {
		name := fmt.Sprint("e", i)
		all.Go(func() {
			for n := range 20 {
				made := h.post(eventsPath, `{"metadata":{"name":"`+name+`"},"involvedObject":{"namespace":"default"}}`)
				made.expect(t, http.StatusCreated, "")
				since := revisionOf(t, made)
				var expired sync.WaitGroup
				expired.Go(func() {
					if err := h.server.Expire(t.Context(), "core/events/default/"+name, since); err != nil {
						t.Error(err)
					}
				})
				changed := h.send("PATCH", eventsPath+"/"+name, mergeType, fmt.Appendf(nil, `{"count":%d}`, n+1))
				expired.Wait()
				left := h.get(eventsPath + "/" + name)
				if changed.code == http.StatusOK && left.code != http.StatusOK || changed.code != http.StatusOK && left.code != http.StatusNotFound {
					t.Errorf("a change was answered with %d, and a read with %d", changed.code, left.code)
				}
				h.remove(eventsPath+"/"+name, "")
			}
		})
	}
	all.Wait()
}

// A namespace that ends does not wait longer for an event than until the event's time is
// over.
func TestExpiryInEndingNamespace(t *testing.T) {
	h := startServer(t, func(c *server.Config) { c.Controllers = []string{"*"} })
	h.create("/api/v1/namespaces", `{"metadata":{"name":"ends"}}`)
	const events = "/api/v1/namespaces/ends/events"
	since := revisionOf(t, h.post(events, `{"metadata":{"name":"e","finalizers":["a.b/c"]},"involvedObject":{"namespace":"ends"}}`))
	h.remove("/api/v1/namespaces/ends", "").expect(t, http.StatusOK, "")
	marked := h.await(events, func(o contents) bool { return o.in("e", "metadata.deletionTimestamp") != nil })
	if err := h.server.Expire(t.Context(), "core/events/ends/e", since); err != nil {
		t.Fatal(err)
	}
	h.get(events+"/e").has(t, `"deletionTimestamp":"`) // it was written since
	now, err := strconv.ParseUint(marked.in("e", "metadata.resourceVersion").(string), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.server.Expire(t.Context(), "core/events/ends/e", now); err != nil {
		t.Fatal(err)
	}
	h.awaitGone("/api/v1/namespaces", "ends")
}

// An event whose record cannot be decrypted expires as others do.
func TestUnreadableEventsExpire(t *testing.T) {
	dir := t.TempDir()
	start := func(letter string) *harness {
		file := encryptionConfig(t, aesKeys(letter))
		text, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(file, []byte(strings.Replace(string(text), "[secrets]", "[events]", 1)), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		return startServer(t, func(c *server.Config) { c.InMemory, c.DataDir, c.EncryptionConfigFile = false, dir, file })
	}
	h := start("1")
	made := revisionOf(t, h.post(eventsPath, `{"metadata":{"name":"e"},"involvedObject":{"namespace":"default"}}`))
	if err := h.server.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	h = start("2")
	h.get(eventsPath+"/e").expect(t, http.StatusInternalServerError, "InternalError")
	if err := h.server.Expire(t.Context(), "core/events/default/e", made-1); err == nil {
		t.Error("an object that was written since, and cannot be read, expires without an error")
	}
	h.get(eventsPath+"/e").expect(t, http.StatusInternalServerError, "InternalError")
	if err := h.server.Expire(t.Context(), "core/events/default/e", made); err != nil {
		t.Error(err)
	}
	h.get(eventsPath+"/e").expect(t, http.StatusNotFound, "")
}
