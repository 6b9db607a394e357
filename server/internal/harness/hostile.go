package harness

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/measured"
)

// Entries joins n texts; %d in a text is the number of the entry, %s the value.
func Entries(n int, text, value string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(text, "%d", fmt.Sprintf("%06d", n-i)), "%s", value))
	}
	return b.String()
}

// Bounds of the cost of one hostile request. The client runs in the same process, so the
// figures include its cost of sending 3 MiB.
const hostileTime = 10 * time.Second // generous: other tests run at the same time

const hostileBytes = 512 << 20 // all allocations, not the memory in use

// The mistake may be in the message, in a cause and in the details.
const hostileAnswer = 160 << 10

// Measures skips a test of the time and memory of requests under the race detector, which
// multiplies both.
func Measures(t *testing.T) {
	t.Helper()
	if measured.Race {
		t.Skip("the race detector multiplies the costs that this test measures")
	}
}

// Slowed is a time that suffices under the race detector too.
func Slowed(d time.Duration) time.Duration {
	if measured.Race {
		return 5 * d
	}
	return d
}

// Hostile is a request that must be refused.
type Hostile = struct {
	Name, Method, Path, ContentType, Body string
	Code                                  int // 0: any from 400 to 499
}

// Refuse sends requests and checks that each is refused soon, with little memory, and
// that all of them together wrote nothing.
func (h *Server) Refuse(t *testing.T, requests []Hostile) {
	t.Helper()
	Measures(t)
	before := h.Get("/api/v1/configmaps").Field(t, "metadata.resourceVersion")
	for _, r := range requests {
		t.Run(r.Name, func(t *testing.T) {
			var start, end runtime.MemStats
			runtime.ReadMemStats(&start)
			begun := time.Now()
			answer := h.Send(r.Method, r.Path, r.ContentType, []byte(r.Body))
			took := time.Since(begun)
			runtime.ReadMemStats(&end)
			if r.Code == 0 && (answer.Code < 400 || answer.Code > 499) || r.Code != 0 && answer.Code != r.Code {
				t.Errorf("answered %d, want %d: %.300s", answer.Code, r.Code, answer.Body)
			}
			if len(answer.Body) > hostileAnswer {
				t.Errorf("the answer has %d bytes", len(answer.Body))
			}
			if used := end.TotalAlloc - start.TotalAlloc; took > hostileTime || used > hostileBytes {
				t.Errorf("took %s and %d MiB, at most %s and %d MiB are allowed", took, used>>20, hostileTime, hostileBytes>>20)
			}
			if testing.Verbose() {
				t.Logf("%d in %s with %d MiB", answer.Code, took.Round(time.Microsecond), (end.TotalAlloc-start.TotalAlloc)>>20)
			}
		})
	}
	if after := h.Get("/api/v1/configmaps").Field(t, "metadata.resourceVersion"); after != before {
		t.Errorf("the revision moved from %v to %v: something was written", before, after)
	}
}
