package objects_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/capstan-dev/capstan/internal/history"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// stress reports whether tests run in their long form (make stress).
func stress() bool { return os.Getenv("CAPSTAN_STRESS") != "" }

// seed is the seed of a test's random numbers: CAPSTAN_SEED, or a new one. Timing matters
// too.
func seed(t *testing.T) uint64 {
	n := rand.Uint64()
	if text := os.Getenv("CAPSTAN_SEED"); text != "" {
		var err error
		if n, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("CAPSTAN_SEED: %v", err)
		}
	}
	t.Logf("CAPSTAN_SEED=%d", n)
	return n
}

// site is a server that is restarted on its data periodically, with the record of its
// clients.
//
// Invariant: history is trimmed only by trim, because the clock stands still.
type site struct {
	t        *testing.T
	cfg      server.Config
	clock    *harness.Clock
	recorder history.Recorder
	marks    atomic.Int64
	// kept is a revision that is certainly not trimmed; none while trim is running.
	kept atomic.Uint64
	calm atomic.Bool // watchers neither hang up nor pause

	up      sync.RWMutex // held for writing while the server is down
	server  *harness.Running
	clients [3]*http.Client // by major version of HTTP
}

// openSite starts a server whose history lasts while its clock stands still.
func openSite(t *testing.T, edits ...func(*server.Config)) *site {
	tokens := filepath.Join(t.TempDir(), "tokens.csv")
	if err := os.WriteFile(tokens, []byte(harness.AdminToken+",admin,1,system:masters\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, clock: &harness.Clock{Start: time.Now()}}
	s.cfg = server.Config{DataDir: "data", FS: vfs.NewMem(), PKI: server.PKI{TokenAuthFile: tokens}, History: time.Second, Clock: s.clock.Now, Background: server.Background{Controllers: []string{"-*"}}}
	for _, edit := range edits {
		edit(&s.cfg)
	}
	s.start()
	t.Cleanup(func() { s.stop(10 * time.Second) })
	return s
}

func (s *site) start() {
	var err error
	if s.server, err = harness.Launch(context.Background(), s.cfg); err != nil {
		s.t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(s.server.CA())
	for major := 1; major <= 2; major++ {
		s.clients[major] = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: major == 2, MaxIdleConnsPerHost: 20}}
	}
}

func (s *site) stop(limit time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for _, c := range s.clients[1:] {
		c.CloseIdleConnections()
	}
	if err := s.server.Shutdown(ctx); err != nil {
		s.t.Errorf("shutdown: %v", err)
	}
}

// restart stops the server, breaking off requests that take long, and starts it again on
// the same data.
func (s *site) restart() {
	s.up.Lock()
	defer s.up.Unlock()
	s.stop(300 * time.Millisecond)
	s.start()
}

// newRequest makes a request to the server, and waits until it is up.
func (s *site) newRequest(ctx context.Context, major int, method, path string, query url.Values, body []byte) (*http.Client, *http.Request, error) {
	s.up.RLock()
	client, base := s.clients[major], s.server.URL()
	s.up.RUnlock()
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, base+path, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+harness.AdminToken)
	return client, req, nil
}

// send returns the answer, or an error when there was none, or an incomplete one.
func (s *site) send(ctx context.Context, major int, method, path string, query url.Values, contentType string, body []byte) (int, []byte, error) {
	client, req, err := s.newRequest(ctx, major, method, path, query, body)
	if err != nil {
		return 0, nil, err
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, text, err
}

// mark makes the mark of a new write.
func (s *site) mark(kind string) string { return fmt.Sprintf("%s-%d", kind, s.marks.Add(1)) }

// list reads a whole list, page by page, and records it. It returns nil when there is no
// complete answer, or the revision is trimmed.
func (s *site) list(ctx context.Context, o history.Options, query url.Values, notBefore uint64) *history.List {
	l := &history.List{Options: o, NotBefore: notBefore}
	query = cloneValues(query)
	for {
		code, text, err := s.send(ctx, 2, http.MethodGet, collectionPath(o.Resource, o.Namespace), query, "", nil)
		if err != nil || code == http.StatusGone || code == http.StatusServiceUnavailable {
			return nil
		}
		var page struct {
			Metadata struct{ ResourceVersion, Continue string }
			Items    []json.RawMessage
		}
		if err := json.Unmarshal(text, &page); err != nil || code != http.StatusOK {
			s.t.Errorf("list %s %v: %d %.300s", &o, query, code, text)
			return nil
		}
		revision, err := strconv.ParseUint(page.Metadata.ResourceVersion, 10, 64)
		if err != nil || l.Revision != 0 && l.Revision != revision {
			s.t.Errorf("list %s %v: a page is at %q, those before are at %d", &o, query, page.Metadata.ResourceVersion, l.Revision)
		}
		if limit, err := strconv.Atoi(query.Get("limit")); err == nil && len(page.Items) > limit {
			s.t.Errorf("list %s %v: a page with %d items", &o, query, len(page.Items))
		}
		l.Revision = revision
		for _, item := range page.Items {
			state, err := history.ParseObject(o.Resource, item)
			if err != nil {
				s.t.Errorf("list %s: %v: %.300s", &o, err, item)
			}
			l.Items = append(l.Items, state)
		}
		if page.Metadata.Continue == "" {
			s.recorder.List(l)
			return l
		}
		query.Del("resourceVersion")
		query.Del("resourceVersionMatch")
		query.Set("continue", page.Metadata.Continue)
	}
}

// trim makes the server trim its history up to about now.
func (s *site) trim(ctx context.Context) {
	s.kept.Store(math.MaxUint64)
	var old uint64
	for deadline := time.Now().Add(20 * time.Second); ; {
		l := s.list(ctx, history.Options{Resource: "nodes"}, nil, s.recorder.Newest())
		if l == nil {
			s.t.Fatal("no list while nothing else happens")
		}
		if old == 0 {
			old = l.Revision
		}
		s.clock.Pass(2 * time.Second)
		code, text, err := s.send(ctx, 2, http.MethodGet, "/api/v1/nodes", url.Values{"resourceVersion": {fmt.Sprint(old - 1)}, "resourceVersionMatch": {"Exact"}}, "", nil)
		if err != nil || code != http.StatusOK && code != http.StatusGone || time.Now().After(deadline) {
			s.t.Fatalf("waiting for history to be trimmed: %d %v %.300s", code, err, text)
		}
		if code == http.StatusGone {
			break
		}
	}
	l := s.list(ctx, history.Options{Resource: "nodes"}, nil, s.recorder.Newest())
	if l == nil {
		s.t.Fatal("no list while nothing else happens")
	}
	s.kept.Store(l.Revision)
}

func collectionPath(resource, namespace string) string {
	if namespace == "" {
		return "/api/v1/" + resource
	}
	return "/api/v1/namespaces/" + namespace + "/" + resource
}

func cloneValues(v url.Values) url.Values {
	c := url.Values{}
	for name, values := range v {
		c[name] = append([]string(nil), values...)
	}
	return c
}
