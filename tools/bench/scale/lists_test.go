package scale

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	objects      = 100_000
	listers      = 10
	memoryBound  = 400.0 // MiB
	firstBound   = 20 * time.Millisecond
	restartBound = 200 * time.Millisecond
	pods         = "/api/v1/namespaces/default/pods"
)

// pod is 3 KiB as sent, with the usual fields.
func pod(i int) string {
	env := make([]string, 24)
	for k := range env {
		env[k] = fmt.Sprintf(`{"name":"VARIABLE_%d","value":"%s"}`, k, filler[:48])
	}
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"pod-%06d","labels":{"app":"web-%d","tier":"front"},"annotations":{"note":"%s"}},
"spec":{"automountServiceAccountToken":false,"nodeName":"node-%d","containers":[{"name":"main","image":"registry.example/web:1.%d","ports":[{"name":"http","containerPort":8080}],
"resources":{"requests":{"cpu":"100m","memory":"128Mi"},"limits":{"memory":"256Mi"}},"env":[%s]}]}}`, i, i%50, filler[:256], i%100, i%10, strings.Join(env, ","))
}

// TestLargeCollection measures the costs of 100,000 pods: memory at rest and while ten
// clients list all of them at once, the time to the first byte of such a list, and the
// time of a restart.
func TestLargeCollection(t *testing.T) {
	dir := t.TempDir()
	s := startOn(t, dir)
	s.send("POST", "/api/v1/namespaces/default/serviceaccounts", "application/json", `{"metadata":{"name":"measured"}}`)
	begin, cpu := time.Now(), s.cpu()
	s.createPods(objects)
	took := time.Since(begin)
	t.Logf("%d pods created in %.0f s: %.0f/s, CPU %.0f us each, one is %d bytes as stored", objects, took.Seconds(), objects/took.Seconds(),
		float64((s.cpu()-cpu).Microseconds())/objects, len(s.send("GET", pods+"/pod-000001", "", "")))
	check := func(when string) {
		rest := settled(s) / 1024
		t.Logf("%.0f MiB resident %s", rest, when)
		if rest > memoryBound {
			t.Errorf("%.0f MiB resident %s, the bound is %.0f", rest, when, memoryBound)
		}
	}
	check("at rest")
	const table = "application/json;as=Table;v=v1;g=meta.k8s.io"
	const binaryForm = "application/vnd.kubernetes.protobuf"
	for _, forms := range [][]string{
		{"application/json"},
		{"application/json", table, binaryForm, "gzip"},
	} {
		slowest := lists(t, s, forms)
		if len(forms) == 1 && slowest > firstBound {
			t.Errorf("the first byte came after %v, the bound is %v", slowest, firstBound)
		}
		check("afterwards")
	}
	for range 3 {
		s.stop()
		s = startOn(t, dir)
		ready := s.untilReady()
		t.Logf("ready %.0f ms after a restart", ms(ready))
		if ready > restartBound {
			t.Errorf("ready %v after a restart, the bound is %v", ready, restartBound)
		}
	}
	check("after a restart")
	s.stop()
}

// createPods creates pods by 32 clients.
func (s *instance) createPods(count int) {
	s.t.Helper()
	var next atomic.Int64
	var creators sync.WaitGroup
	for range 32 {
		creators.Go(func() {
			for i := int(next.Add(1)); i <= count && !s.t.Failed(); i = int(next.Add(1)) {
				body := strings.Replace(pod(i), `"spec":{`, `"spec":{"serviceAccountName":"measured",`, 1)
				if err := s.try("POST", pods, body); err != nil {
					s.t.Error(err)
					return
				}
			}
		})
	}
	creators.Wait()
	if s.t.Failed() {
		s.t.FailNow()
	}
}

// lists lets the clients list everything at once, in some forms by turns, and returns the
// time of the slowest first byte. In the binary form that includes encoding all of the
// list, since it begins with its length.
func lists(t *testing.T, s *instance, forms []string) (slowest time.Duration) {
	t.Helper()
	begin, cpu := time.Now(), s.cpu()
	first := make([]time.Duration, listers)
	read := make([]int64, listers)
	peak := s.peakWhile(func() {
		connected, clients := sync.WaitGroup{}, sync.WaitGroup{}
		connected.Add(listers)
		for i := range listers {
			clients.Go(func() {
				var err error
				if first[i], read[i], err = s.listAll(forms[i%len(forms)], &connected); err != nil {
					t.Error(err)
				}
			})
		}
		clients.Wait()
	})
	total := int64(0)
	for i := range listers {
		slowest, total = max(slowest, first[i]), total+read[i]
	}
	t.Logf("%d lists as %s: %.1f s, %d MiB, CPU %.2f s, first bytes after %.1f to %.1f ms; %d MiB resident at most", listers, strings.Join(forms, ", "),
		time.Since(begin).Seconds(), total>>20, (s.cpu() - cpu).Seconds(), ms(fastest(first)), ms(slowest), int(peak))
	if peak > memoryBound {
		t.Errorf("%.0f MiB resident while %d clients list, the bound is %.0f", peak, listers, memoryBound)
	}
	return slowest
}

// peakWhile is the most memory of the server during some work, in MiB.
func (s *instance) peakWhile(work func()) float64 {
	peak, ended := s.resident(), make(chan struct{})
	var sampler sync.WaitGroup
	sampler.Go(func() {
		for {
			peak = max(peak, s.resident())
			select {
			case <-ended:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	work()
	close(ended)
	sampler.Wait()
	return peak / 1024
}

func fastest(all []time.Duration) time.Duration {
	best := all[0]
	for _, d := range all {
		best = min(best, d)
	}
	return best
}

// listAll lists the pods on a connection of its own, when all clients are connected. It
// returns the time of the first byte and the number of bytes. "gzip" is JSON, compressed.
func (s *instance) listAll(form string, connected *sync.WaitGroup) (first time.Duration, n int64, err error) {
	conn, err := tls.Dial("tcp", s.address, &tls.Config{InsecureSkipVerify: true})
	connected.Done()
	if err != nil {
		return 0, 0, err
	}
	defer conn.Close()
	connected.Wait()
	accept, encoding := form, ""
	if form == "gzip" {
		accept, encoding = "application/json", "Accept-Encoding: gzip\r\n"
	}
	begin := time.Now()
	if _, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nAccept: %s\r\n%sUser-Agent: bench\r\nConnection: close\r\n\r\n", pods, token, accept, encoding); err != nil {
		return 0, 0, err
	}
	in := bufio.NewReaderSize(conn, 64<<10)
	if _, err = in.Peek(1); err != nil {
		return 0, 0, err
	}
	first = time.Since(begin)
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		return first, 0, err
	}
	n, err = io.Copy(io.Discard, resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("a list as %s: %s", form, resp.Status)
	}
	return first, n, err
}
