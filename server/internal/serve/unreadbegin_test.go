package serve_test

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/measured"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestReadsWhileListsBegin: while one user opens many long lists at once, and reads none, the
// reads of another user of the level do not wait for a seat. The rest of their delay is
// the work of the processors.
func TestReadsWhileListsBegin(t *testing.T) {
	const lists, seats = 150, 40
	for major := 1; major <= 2; major++ {
		t.Run(fmt.Sprint("HTTP ", major), func(t *testing.T) {
			h := unreadServer(t, func(c *server.Config) {
				c.DisablePriorityAndFairness = false
				c.MaxRequestsInflight, c.MaxMutatingRequestsInflight = seats, seats
			})
			h.Create(harness.FlowAPI+"flowschemas", `{"metadata":{"name":"quiet"},"spec":{"matchingPrecedence":7,"priorityLevelConfiguration":{"name":"global-default"},"distinguisherMethod":{"type":"ByUser"},"rules":[`+
				`{"subjects":[{"kind":"User","user":{"name":"carol"}}],"resourceRules":[{"verbs":["get"],"apiGroups":[""],"resources":["configmaps"],"namespaces":["*"]}]}]}}`)
			read := func() {
				h.Send("GET", "/api/v1/namespaces/kube-public/configmaps/small", "", nil, harness.AsCarol...).Expect(t, http.StatusOK, "")
			}
			for end := time.Now().Add(15 * time.Second); waited(h, "quiet", "+Inf") == 0; read() { // until the schema counts
				if time.Now().After(end) {
					t.Fatal("the flow schema is not used")
				}
			}
			all, atOnce := waited(h, "quiet", "+Inf"), waited(h, "quiet", "0")
			ask, of := ignored, h
			if major == 2 {
				ask, of = ignoredStream, h.Small()
			}
			stop := make(chan struct{})
			var quiet, begins sync.WaitGroup
			var took []time.Duration
			quiet.Go(func() {
				for ended := false; !ended; {
					select {
					case <-stop:
						ended = true
					default:
					}
					begun := time.Now()
					read()
					took = append(took, time.Since(begun))
				}
			})
			begun, work := time.Now(), measured.CPU()
			for range lists {
				begins.Go(func() { ask(of, harness.ConfigMaps, "user-0") })
			}
			begins.Wait()
			work = measured.CPU() - work
			passed := time.Since(begun)
			close(stop)
			quiet.Wait()
			slices.Sort(took)
			all, atOnce = waited(h, "quiet", "+Inf")-all, waited(h, "quiet", "0")-atOnce
			t.Logf("%v reads, of which %v did not wait; half took at most %v, 99 of 100 %v; the lists began within %v and %v of the processors",
				all, atOnce, took[len(took)/2], took[len(took)*99/100], passed, work)
			if waited := all - atOnce; all == 0 || waited > math.Ceil(all/10) {
				t.Errorf("%v of %v reads of the other user waited for a seat", waited, all)
			}
		})
	}
}

// waited is the number of requests of a flow schema that waited for their seats for at most
// some seconds.
func waited(h *harness.Server, schema, seconds string) float64 {
	for name, value := range h.Figures() {
		if strings.HasPrefix(name, "apiserver_flowcontrol_request_wait_duration_seconds_bucket{") && strings.Contains(name, `execute="true"`) &&
			strings.Contains(name, `flow_schema="`+schema+`"`) && strings.Contains(name, `le="`+seconds) {
			if strings.HasSuffix(strings.TrimRight(name, `"}`), `="`+seconds) {
				n, _ := strconv.ParseFloat(value, 64)
				return n
			}
		}
	}
	return 0
}
