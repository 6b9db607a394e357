package scale

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// lonePaces are the requests a second of a lone client, and how many of them are measured.
var lonePaces = []struct{ pace, count int }{{1, 20}, {10, 100}, {100, 600}}

// lonePods are as many as the requests of a row: each of them patches another one.
const lonePods = 800

// loneRows are the rows that a lone client asks for.
var loneRows = []string{"get-pod", "create-configmap", "create-pod", "merge-patch-pod-status"}

// TestLone measures what one request at a time costs, in CPU and in time, when little else
// happens: the server's processors sleep between two requests, and each write is synced for
// itself. A floor gets the same request half an interval later. PROTOCOLS, ROWS and PACES bound the test.
func TestLone(t *testing.T) {
	var table strings.Builder
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2"} {
		if !chosen("PROTOCOLS", protocol) {
			continue
		}
		server, floor := start(t), startFloor(t, t.TempDir())
		t.Cleanup(floor.kill)
		server.send("POST", "/api/v1/namespaces/default/serviceaccounts", "application/json", `{"metadata":{"name":"measured"}}`)
		both := []*instance{server, floor}
		for _, s := range both {
			s.transport.ForceAttemptHTTP2 = protocol == "HTTP/2"
		}
		l := &lone{t: t, both: both, next: map[string]int{}}
		for _, r := range rowsOf(lonePods, configMaps(server)) {
			if strings.HasPrefix(r.name, "create-") {
				l.fill(r, lonePods)
			}
			if !slices.Contains(loneRows, r.name) || !chosen("ROWS", r.name) {
				continue
			}
			for _, p := range lonePaces {
				if !chosen("PACES", strconv.Itoa(p.pace)) {
					continue
				}
				cpu, times := l.measure(r, p.pace, p.count)
				fmt.Fprintf(&table, "| %s | %s | %d | %.0f | %.0f | %.2f | %.0f | %.0f | %.2f |\n", protocol, r.name, p.pace,
					us(cpu[0]), us(cpu[1]), float64(cpu[0])/float64(cpu[1]), us(times[0]), us(times[1]), float64(times[0])/float64(times[1]))
			}
		}
	}
	t.Logf("one request at a time: CPU and median time in us, of the server and of the floor\n"+
		"| protocol | row | a second | CPU | floor | ratio | time | floor | ratio |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n%s", &table)
}

// lone is a client that sends one request at a time, to a server and to a floor.
type lone struct {
	t    *testing.T
	both []*instance
	next map[string]int // number of the next request, by row
}

// send sends the next request of a row to both, and returns how long each took.
func (l *lone) send(r row, pause time.Duration) (took [2]time.Duration) {
	i := l.next[r.name]
	l.next[r.name]++
	size := "0"
	for which, s := range l.both {
		begin := time.Now()
		length, err := r.send(s, i, size)
		if err != nil {
			l.t.Fatal(err)
		}
		took[which], size = time.Since(begin), strconv.Itoa(length)
		time.Sleep(time.Until(begin.Add(pause)))
	}
	return took
}

// fill creates the first objects of a row.
func (l *lone) fill(r row, count int) {
	for range count {
		l.send(r, 0)
	}
}

// measure sends requests at a pace, and returns the CPU of each process for a request and the
// median of the times.
func (l *lone) measure(r row, pace, count int) (cpu, middle [2]time.Duration) {
	for range 5 {
		l.send(r, 0)
	}
	var times [2][]time.Duration
	for which, s := range l.both {
		cpu[which] = -s.exactCPU()
	}
	for range count {
		for which, took := range l.send(r, time.Second/time.Duration(2*pace)) {
			times[which] = append(times[which], took)
		}
	}
	for which, s := range l.both {
		cpu[which] = (cpu[which] + s.exactCPU()) / time.Duration(count)
		slices.Sort(times[which])
		middle[which] = times[which][count/2]
	}
	return cpu, middle
}
