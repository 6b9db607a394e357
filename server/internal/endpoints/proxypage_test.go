package endpoints_test

import (
	"compress/gzip"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestProxiedPages: links of pages, and of redirects, lead through the proxy by which the
// client came.
func TestProxiedPages(t *testing.T) {
	const own = harness.PodsPath + "/p/proxy"
	pod := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Access-Control-Allow-Origin", "*")
		switch r.URL.Path {
		case "/moved", "/moved/":
			http.Redirect(w, r, "/to/here?a=b#c", http.StatusFound)
		case "/host":
			w.Header().Set("Location", "http://"+r.Context().Value(http.LocalAddrContextKey).(net.Addr).String()+"/x")
			w.WriteHeader(http.StatusCreated)
		case "/elsewhere":
			http.Redirect(w, r, "https://example.com/x", http.StatusFound)
		case "/zip":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			fmt.Fprint(z, `<a href="/x">`)
			_ = z.Close()
		case "/brotli":
			w.Header().Set("Content-Encoding", "br")
			fmt.Fprint(w, `<a href="/x">`)
		case "/text":
			w.Header().Set("Content-Type", "text/plain")
			fmt.Fprint(w, `<a href="/x">`)
		case "/part":
			http.ServeContent(w, r, "", time.Time{}, strings.NewReader(`<a href="/x">`))
		case "/host-and-uri":
			fmt.Fprintf(w, `<a href="http://%s/x"> %s`, r.Host, r.Header.Get("X-Forwarded-Uri"))
		default:
			fmt.Fprintf(w, `<a href="/x%%2fy/">%s</a><a href="%s/x"><a href="z"><a href="https://example.com/x">`, r.URL, own)
		}
	}))
	var err error
	if pod.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	pod.Start()
	t.Cleanup(pod.Close)
	_, port, _ := net.SplitHostPort(pod.Listener.Addr().String())
	h := harness.Start(t, func(c *server.Config) { c.ConnectToLocalAddresses = true })
	(&harness.NodeAgent{Port: port}).Place(h)
	h.Run(t, []harness.Step{{"address", "PATCH", harness.PodsPath + "/p/status", harness.MergePatchMedia, `{"status":{"podIP":"127.0.0.1","podIPs":[{"ip":"127.0.0.1"}]}}`, 200, ""}})
	page := func(at, path string) string {
		return fmt.Sprintf(`<a href="%[1]s/x%%2fy/">%[2]s</a><a href="%[3]s/x"><a href="z"><a href="https://example.com/x">`, at, path, own)
	}
	named := harness.PodsPath + "/http:p:" + port + "/proxy"
	h.HTTP.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for _, c := range []struct {
		method, path string
		code         int
		location     string
		body         string // "" for any
	}{
		{"GET", own + "/a?q=1", 200, "", page(own, "/a?q=1")},
		{"GET", own + "/a/", 200, "", page(own, "/a/")},
		{"GET", own + "/", 200, "", page(own, "/")},
		{"POST", own, 200, "", page(own, "/")},
		{"GET", named + "/a", 200, "", strings.Replace(page(named, "/a"), `"`+own+"/x", `"`+named+own+"/x", 1)},
		{"GET", own + "/moved", 302, own + "/to/here?a=b#c", ""},
		{"GET", own + "/moved/", 302, own + "/to/here?a=b#c", ""},
		{"GET", own + "/host", 201, own + "/x", ""},
		{"GET", own + "/elsewhere", 302, "https://example.com/x", ""},
		{"GET", own + "/zip", 200, "", `<a href="` + own + `/x">`},
		{"GET", own + "/brotli", 200, "", `<a href="/x">`},
		{"GET", own + "/text", 200, "", `<a href="/x">`},
		{"GET", own + "/host-and-uri", 200, "", `<a href="` + strings.Replace(h.Running.URL(), "https:", "http:", 1) + own + `/x"> ` + own + `/host-and-uri`},
		{"HEAD", own + "/a", 200, "", ""},
	} {
		got := h.Send(c.method, c.path, "", nil, "Accept-Encoding", "gzip")
		if got.Code != c.code || got.Header.Get("Location") != c.location || c.body != "" && string(got.Body) != c.body || got.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s %s: %d %v\n%s\nwant %s", c.method, c.path, got.Code, got.Header, got.Body, c.body)
		}
	}
	if got := h.Send("GET", own+"/part", "", nil, "Range", "bytes=0-5"); got.Code != 206 || string(got.Body) != `<a hre` {
		t.Errorf("a part: %d %s", got.Code, got.Body)
	}
}
