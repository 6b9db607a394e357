package verbs_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// trimmed lets history pass until a revision is not kept any more. Trimming happens
// periodically in the background, by the clock.
func trimmed(h *harness.Server, c *harness.Clock, revision string) {
	h.T.Helper()
	h.MergePatch(harness.ConfigMaps+"/a", `{"data":{"trimmed":"soon"}}`)
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); {
		c.Pass(2 * time.Minute)
		r := h.Get(harness.ConfigMaps + "?resourceVersionMatch=Exact&resourceVersion=" + revision)
		if r.Code == 410 {
			return
		}
		r.Expect(h.T, 200, "")
	}
	h.T.Fatal("history is never trimmed")
}

// revisionIn finds the resourceVersion in a text, without reading the rest.
func revisionIn(t *testing.T, text []byte) string {
	t.Helper()
	_, after, found := bytes.Cut(text, []byte(`"resourceVersion":"`))
	revision, _, ended := bytes.Cut(after, []byte(`"`))
	if !found || !ended {
		t.Fatalf("no resourceVersion in %.200s", text)
	}
	return string(revision)
}
