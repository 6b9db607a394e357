package serve_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestRefusedUpgrades: a connection whose change to another protocol is refused or sent
// elsewhere stays one to this server: what follows on it is authenticated like any request,
// and does not reach the other server.
func TestRefusedUpgrades(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	t.Cleanup(elsewhere.Close)
	refuse := func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "smuggled") {
			t.Errorf("%s %s of %q came through", r.Method, r.URL, r.Header.Get("X-Remote-User"))
		}
		switch code := r.URL.Query().Get("command"); code {
		case "302", "307":
			w.Header().Set("Location", elsewhere.URL+"/x")
			w.WriteHeader(map[string]int{"302": 302, "307": 307}[code])
		case "403":
			w.WriteHeader(403)
			_, _ = io.WriteString(w, "no")
		case "500":
			http.Error(w, "broken", 500)
		default:
			w.WriteHeader(200)
		}
	}
	agent := harness.StartAgent(t, refuse)
	h := harness.Start(t, func(c *server.Config) { harness.Soon(c); agent.Trust(t, c) })
	agent.Place(h)
	h.Register(h.StartExtension(refuse))
	for _, path := range []string{harness.PodsPath + "/p/exec", harness.Wardle + "/namespaces/default/flunders/a/exec", "/api/v1/nodes/n/proxy/x"} {
		for code, want := range map[string][]int{"302": {500, 502, 503}, "307": {500, 502, 503}, "403": {403}, "500": {500}, "200": {500, 502, 503}} {
			conn := h.Line("http/1.1", "POST "+path+"?command="+code+" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+harness.AdminToken+
				"\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nContent-Length: 0\r\n\r\n")
			in := bufio.NewReader(conn)
			resp, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatalf("%s %s: %v", path, code, err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			answered := false
			for _, c := range want {
				answered = answered || resp.StatusCode == c
			}
			if !answered {
				t.Errorf("%s %s: %s, want %v", path, code, resp.Status, want)
			}
			if location := resp.Header.Get("Location"); strings.HasPrefix(location, elsewhere.URL) && !strings.HasPrefix(path, "/api/v1/nodes") {
				t.Errorf("%s %s: sent to %s", path, code, location)
			}
			fmt.Fprint(conn, "GET "+harness.Wardle+"/smuggled HTTP/1.1\r\nHost: x\r\nX-Remote-User: admin\r\nX-Remote-Group: system:masters\r\n\r\n")
			if resp, err := http.ReadResponse(in, nil); err == nil && resp.StatusCode != 401 && resp.StatusCode != 403 && resp.StatusCode != 400 {
				t.Errorf("%s %s: what follows is answered %s", path, code, resp.Status)
			}
			_ = conn.Close()
		}
	}
}

// TestFloods: connections of HTTP/2 that send only what costs the server something are given
// up, with little memory, and others are served meanwhile.
func TestFloods(t *testing.T) {
	h := harness.Start(t, shortBodies)
	h.Create(harness.ConfigMaps, harness.ConfigMap("large", `{"k":"`+strings.Repeat("x", 1<<20)+`"}`))
	settings := frame(4, 0, 0, "")
	repeated := func(text string) func(int) string {
		return func(int) string { return strings.Repeat(text, 1000) }
	}
	for name, flood := range map[string]struct {
		begin string
		next  func(i int) string
		ends  bool // the connection, by the server
	}{
		"streams that are reset": {"", func(i int) string {
			var all strings.Builder
			for j := range 1000 {
				stream := uint32(2*(1000*i+j) + 1)
				all.WriteString(http2Request(stream, harness.ConfigMaps+"/large") + frame(3, 0, stream, "\x00\x00\x00\x08"))
			}
			return all.String()
		}, false},
		"heads without end":      {frame(1, 0, 1, "\x00\x01a\x01b"), repeated(frame(9, 0, 1, "\x00\x01a\x7f\x80\x7f"+strings.Repeat("b", 255))), true},
		"empty continuations":    {frame(1, 0, 1, "\x00\x01a\x01b"), repeated(frame(9, 0, 1, "")), false},
		"pings":                  {"", repeated(frame(6, 0, 0, "12345678")), true},
		"settings":               {"", repeated(settings), false},
		"empty data":             {http2Request(1, "/version"), repeated(frame(0, 0, 1, "")), true},
		"priorities":             {"", repeated(frame(2, 0, 1, "\x00\x00\x00\x00\x01")), false},
		"windows":                {"", repeated(frame(8, 0, 0, "\x00\x00\x00\x01")), false},
		"frames of unknown kind": {"", repeated(frame(77, 0, 0, "x")), false},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.GC()
			goroutines := runtime.NumGoroutine()
			runtime.ReadMemStats(&before)
			conn := h.Line("h2", http2Begin, settings, flood.begin)
			_ = conn.SetDeadline(time.Now().Add(15 * time.Second))
			ended, sent := false, 0
			most := 64 << 20
			if !flood.ends { // such bytes cost no more than others
				most = 3 << 20
			}
			for i := 0; sent < most; i++ {
				n, err := io.WriteString(conn, flood.next(i))
				if sent += n; err != nil {
					ended = true
					break
				}
				if i%20 == 0 {
					begun := time.Now()
					h.Send("GET", "/version", "", nil).Expect(t, 200, "")
					if took := time.Since(begun); took > 5*time.Second {
						t.Errorf("others wait for %s", took)
					}
				}
			}
			runtime.ReadMemStats(&after)
			if n := runtime.NumGoroutine(); n > goroutines+2000 {
				t.Errorf("%d goroutines, at first %d", n, goroutines)
			}
			if flood.ends && !ended {
				t.Errorf("%d bytes were taken, and the connection is not ended", sent)
			}
			if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 256<<20 {
				t.Errorf("%d MiB are in use", grown>>20)
			}
			if testing.Verbose() {
				t.Logf("ended %v after %d KiB", ended, sent>>10)
			}
		})
	}
}
