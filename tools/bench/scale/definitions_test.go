package scale

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// definition is a custom resource definition with a schema of some 40 KB.
func definition(n int) string {
	var b strings.Builder
	for i := range 20 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `"section%d":{"type":"object","description":%q,"properties":{`, i, strings.Repeat("What this section is for. ", 10))
		for j := range 10 {
			if j > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `"field%d":{"type":"string","description":%q,"maxLength":63}`, j, strings.Repeat("What this field says. ", 7))
		}
		b.WriteString(`}}`)
	}
	return fmt.Sprintf(`{"metadata":{"name":"kinds%[1]d.g%[1]d.example.com"},"spec":{"group":"g%[1]d.example.com","scope":"Namespaced","names":{"plural":"kinds%[1]d","kind":"Kind%[1]d"},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{%[2]s}}}}]}}`, n, b.String())
}

// A thousand definitions cost at most 300 MiB more than none. The times are logged, for they
// depend on the machine: half a second of CPU at a restart, and 50 ms from a create until the
// kind is served, are the budget. DEFINITIONS is another number of them.
func TestDefinitions(t *testing.T) {
	dir := t.TempDir()
	s := startOn(t, dir)
	count := 1000
	if text := os.Getenv("DEFINITIONS"); text != "" {
		count, _ = strconv.Atoi(text)
	}
	empty := s.resident()
	waits := make([]time.Duration, count)
	var quarter time.Duration // the CPU up to the last quarter
	for n := range count {
		if n == count-count/4 {
			quarter = s.cpu()
		}
		begin := time.Now()
		if code := s.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition(n)); code != http.StatusCreated {
			t.Fatalf("definition %d: %d", n, code)
		}
		path := fmt.Sprintf("/apis/g%[1]d.example.com/v1/namespaces/default/kinds%[1]d", n)
		for s.code(path) != http.StatusOK {
			if time.Since(begin) > time.Minute {
				t.Fatalf("definition %d is not served", n)
			}
		}
		waits[n] = time.Since(begin)
	}
	last, cpu, late := waits[count-1], s.cpu()/time.Duration(count), (s.cpu()-quarter)/time.Duration(max(1, count/4))
	slices.Sort(waits)
	most := float64(count) * 0.3
	more := (s.resident() - empty) / 1024
	t.Logf("%d definitions: %.0f MiB more than none (%.0f); served %v after the create in the middle, %v at the slowest, %v the last; %v of CPU each, %v in the last quarter", count, more, empty/1024, waits[count/2], waits[count-1], last, cpu, late)
	if count >= 1000 && more > most {
		t.Errorf("more than %.0f MiB", most)
	}
	s.stop()
	s = startOn(t, dir)
	defer s.stop()
	took := time.Since(s.started)
	for s.code(fmt.Sprintf("/apis/g%[1]d.example.com/v1/namespaces/default/kinds%[1]d", count-1)) != http.StatusOK {
		time.Sleep(time.Millisecond)
	}
	served := time.Since(s.started)
	time.Sleep(3 * time.Second)
	more = (s.resident() - empty) / 1024
	t.Logf("after a restart: listens after %v, serves the last after %v, %.0f MiB more than none, %v of CPU in all", took, served, more, s.cpu())
	if count >= 1000 && more > most {
		t.Errorf("more than %.0f MiB", most)
	}
}

func (s *instance) post(path, body string) int {
	req, err := http.NewRequest(http.MethodPost, "https://"+s.address+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	return s.answer(req)
}

func (s *instance) code(path string) int {
	req, err := http.NewRequest(http.MethodGet, "https://"+s.address+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.answer(req)
}

func (s *instance) answer(req *http.Request) int {
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := s.client.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode
}
