package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// scripted answers requests with the next of its answers, which a line of the request begins:
// "GET <query>\n<code>\n<body>". After the last one it waits for the end of the request.
type scripted struct {
	*testing.T
	answers []string
	asked   []time.Time
	header  http.Header
}

func (s *scripted) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked = append(s.asked, time.Now())
	if len(s.answers) == 0 {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	want, rest, _ := strings.Cut(s.answers[0], "\n")
	s.answers = s.answers[1:]
	q := r.URL.Query()
	q.Del("timeoutSeconds")
	if got := strings.TrimSpace(r.Method + " " + q.Encode()); got != want {
		s.Errorf("got request %q, want %q", got, want)
	}
	code, body, _ := strings.Cut(rest, "\n")
	if code == "broken" {
		return nil, errors.New("connection refused")
	}
	var status int
	fmt.Sscan(code, &status)
	return &http.Response{StatusCode: status, Status: code, Header: s.header, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

func (s *scripted) widgets() widgets {
	rest, err := NewREST(Config{Host: "http://localhost", Transport: s})
	if err != nil {
		s.Fatal(err)
	}
	return NewResource[*widget](rest, row, "")
}

func listed(version string, more string, objects ...string) string {
	return fmt.Sprintf(`{"metadata":{"resourceVersion":%q,"continue":%q},"items":[%s]}`, version, more, strings.Join(objects, ","))
}

func object(name, version string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q,"resourceVersion":%q}}`, name, version)
}

func event(kind, object string) string {
	return fmt.Sprintf("{\"type\":%q,\"object\":%s}\n", kind, object)
}

const (
	expired = `{"status":"Failure","code":410,"reason":"Expired","message":"too old"}`
	first   = "GET limit=500\n200\n"
	since   = "GET allowWatchBookmarks=true&resourceVersion="
)

// TestFollow goes through everything that ends a watch.
func TestFollow(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers []string
		want    string // of the events and errors
	}{
		{"pages, then changes", []string{first + listed("5", "x", object("a", "1")), "GET continue=x&limit=500\n200\n" + listed("5", "", object("b", "2")),
			since + "5&watch=true\n200\n" + event("ADDED", object("c", "6")) + event("MODIFIED", object("a", "7")) + event("DELETED", object("b", "8")), since + "8&watch=true\n200\n"},
			"ADDED a 1, ADDED b 2, SYNCED, ADDED c 6, MODIFIED a 7, DELETED b 8"},
		{"bookmarks move the version", []string{first + listed("5", ""), since + "5&watch=true\n200\n" + event("BOOKMARK", object("", "90")), since + "90&watch=true\n200\n"}, "SYNCED"},
		{"a broken connection resumes", []string{first + listed("5", ""), since + "5&watch=true\n200\n" + event("ADDED", object("a", "6")) + `{"type":"AD`, since + "6&watch=true\nbroken\n", since + "6&watch=true\n200\n"},
			"SYNCED, ADDED a 6, error, error"},
		{"a forgotten version shows the difference", []string{first + listed("5", "", object("a", "1"), object("b", "2"), object("c", "3")),
			since + "5&watch=true\n200\n" + event("ERROR", expired), first + listed("9", "", object("b", "2"), object("c", "8"), object("d", "9")), since + "9&watch=true\n200\n"},
			"ADDED a 1, ADDED b 2, ADDED c 3, SYNCED, MODIFIED c 8, ADDED d 9, DELETED a 1, SYNCED"},
		{"a refused watch lists again", []string{first + listed("5", ""), since + "5&watch=true\n410\n" + expired, first + listed("9", "", object("a", "8")), since + "9&watch=true\n200\n"}, "SYNCED, ADDED a 8, SYNCED"},
		{"a server that was set back", []string{first + listed("5", "", object("a", "4")), since + "5&watch=true\n504\n{}", first + listed("3", "", object("a", "2")), since + "3&watch=true\n200\n"}, "ADDED a 4, SYNCED, error, MODIFIED a 2, SYNCED"},
		{"a list that is refused is repeated", []string{"GET limit=500\n403\n{}", first + listed("9", ""), since + "9&watch=true\n200\n"}, "error, SYNCED"},
		{"a page that is forgotten", []string{first + listed("5", "x", object("a", "1")), "GET continue=x&limit=500\n410\n" + expired, first + listed("9", "", object("a", "1")), since + "9&watch=true\n200\n"}, "ADDED a 1, SYNCED"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scripted{T: t, answers: c.answers}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				var got []string
				for e, err := range s.widgets().Follow(ctx, ListOptions{}) {
					switch {
					case err != nil:
						got = append(got, "error")
					case e.Object == nil:
						got = append(got, string(e.Type))
					default:
						got = append(got, fmt.Sprintln(e.Type, e.Object.GetName(), e.Object.GetResourceVersion()))
					}
				}
				if all := strings.ReplaceAll(strings.Join(got, ", "), "\n", ""); all != c.want || len(s.answers) > 0 {
					t.Errorf("got  %s, %d answers left\nwant %s", all, len(s.answers), c.want)
				}
			})
		})
	}
}

// A server that ends every watch at once is not asked all the time.
func TestFollowWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{T: t, answers: []string{first + listed("5", "")}}
		for range 100 {
			s.answers = append(s.answers, since+"5&watch=true\n200\n")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		for range s.widgets().Follow(ctx, ListOptions{}) {
		}
		if n := len(s.asked); n < 10 || n > 40 {
			t.Errorf("%d requests in 5 minutes", n)
		}
	})
}

func TestInformer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{T: t, answers: []string{first + listed("5", "", object("a", "1"), object("bb", "2")),
			since + "5&watch=true\n200\n" + event("MODIFIED", object("a", "6")) + event("DELETED", object("bb", "7")), since + "7&watch=true\n200\n" + event("ADDED", object("ccc", "8")), since + "8&watch=true\n410\n" + expired,
			first + listed("9", "", object("a", "6"))}}
		ctx, cancel := context.WithCancel(t.Context())
		i := s.widgets().Informer(InformerConfig[*widget]{Resync: time.Hour, Indexers: map[string]func(*widget) []string{
			"length": func(w *widget) []string { return []string{fmt.Sprint(len(w.GetName()))} }}})
		var got []string
		say := func(what string, w *widget) { got = append(got, what+" "+w.GetName()+w.GetResourceVersion()) }
		remove := i.Handle(Handler[*widget]{
			Added:   func(w *widget) { say("+", w) },
			Changed: func(old, w *widget) { say(old.GetResourceVersion(), w) },
			Deleted: func(w *widget) { say("-", w) },
		})
		ended := make(chan error)
		go func() { ended <- i.Run(ctx) }()
		<-i.Synced()
		time.Sleep(61 * time.Minute)
		synctest.Wait()
		late := 0
		i.Handle(Handler[*widget]{Added: func(*widget) { late++ }})
		remove()
		if want := []string{"+ a1", "+ bb2", "1 a6", "- bb7", "+ ccc8", "- ccc8", "6 a6"}; !slices.Equal(got, want) || late != 1 {
			t.Errorf("got %q, want %q; a late handler saw %d", got, want, late)
		}
		one, err := i.Indexed("length", "1")
		three, _ := i.Indexed("length", "3")
		if _, unknown := i.Indexed("width", "1"); err != nil || len(one) != 1 || len(three) != 0 || unknown == nil || len(i.List()) != 1 {
			t.Errorf("index: %v, %d, %d, %v", err, len(one), len(three), unknown)
		}
		if a, ok := i.Get("", "a"); !ok || a.GetResourceVersion() != "6" {
			t.Errorf("get: %v, %t", a, ok)
		}
		cancel()
		if err := <-ended; err != nil || i.Run(ctx) == nil {
			t.Errorf("run: %v, and it ran twice", err)
		}
	})
}

func TestRetries(t *testing.T) {
	body := `{"metadata":{"name":"a"}}`
	for _, c := range []struct {
		name, method, code, after string
		limit                     time.Duration // of the context
		requests                  int
		took                      time.Duration
	}{
		{"busy", "POST", "429", "3", time.Hour, 2, 3 * time.Second},
		{"not ready", "POST", "503", "1", time.Hour, 2, time.Second},
		{"a failed read", "GET", "500", "1", time.Hour, 2, time.Second},
		{"a failed write may have had an effect", "POST", "500", "1", time.Hour, 1, 0},
		{"no header", "GET", "503", "", time.Hour, 1, 0},
		{"a time", "GET", "429", "Sat, 01 Jan 2000 00:00:07 GMT", time.Hour, 2, 7 * time.Second},
		{"it would be too late", "GET", "429", "10", 5 * time.Second, 1, 0},
		{"no sense", "GET", "429", "soon", time.Hour, 1, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scripted{T: t, header: http.Header{"Retry-After": {c.after}}, answers: []string{c.method + "\n" + c.code + "\n{}", c.method + "\n200\n" + body}}
				ctx, cancel := context.WithTimeout(t.Context(), c.limit)
				defer cancel()
				began := time.Now()
				err := s.widgets().rest().do(ctx, request{method: c.method, path: "/x", body: []byte("{}")}, nil)
				if len(s.asked) != c.requests || time.Since(began) != c.took || (err == nil) != (c.requests > 1) {
					t.Errorf("%d requests in %s, %v", len(s.asked), time.Since(began), err)
				}
			})
		})
	}
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{T: t, header: http.Header{"Retry-After": {"1"}}}
		for range 20 {
			s.answers = append(s.answers, "GET\n429\n{}")
		}
		err := s.widgets().rest().do(t.Context(), request{method: "GET", path: "/x"}, nil)
		if after, ok := RetryAfter(err); len(s.asked) != 11 || !ok || after != time.Second {
			t.Errorf("%d requests, %v", len(s.asked), err)
		}
	})
}

func (r *Resource[P]) rest() *REST { return r.at.rest }

// TestWatcherCloses leaves no goroutine and no connection, whatever the watcher was doing.
func TestWatcherCloses(t *testing.T) {
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(protocol, func(t *testing.T) {
			ended := make(chan string)
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				io.WriteString(w, event("ADDED", object("a", "1")))
				w.(http.Flusher).Flush()
				<-r.Context().Done()
				ended <- r.Proto
			}))
			s.EnableHTTP2 = protocol == "HTTP/2.0"
			var open atomic.Int32
			s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
				switch state {
				case http.StateNew:
					open.Add(1)
				case http.StateClosed, http.StateHijacked:
					open.Add(-1)
				}
			}
			s.StartTLS()
			defer s.Close()
			before := runtime.NumGoroutine()
			config := s.Client().Transport.(*http.Transport).TLSClientConfig
			rest, err := NewREST(Config{Host: s.URL, TLS: config})
			if err != nil {
				t.Fatal(err)
			}
			for _, waits := range []bool{false, true} {
				w, err := NewResource[*widget](rest, row, "").Watch(t.Context(), ListOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := w.Next(); err != nil {
					t.Fatal(err)
				}
				next := make(chan error, 1)
				if waits {
					go func() { _, err := w.Next(); next <- err }()
				}
				if err := errors.Join(w.Close(), w.Close()); err != nil {
					t.Error(err)
				}
				if proto := <-ended; proto != protocol {
					t.Errorf("the watch was %s", proto)
				}
				if !waits {
					_, err := w.Next()
					next <- err
				}
				if err := <-next; !errors.Is(err, net.ErrClosed) {
					t.Errorf("next after close: %v", err)
				}
			}
			rest.Close()
			deadline := time.Now().Add(10 * time.Second)
			for open.Load() != 0 || runtime.NumGoroutine() > before {
				if time.Now().After(deadline) {
					stacks := make([]byte, 1<<16)
					t.Fatalf("%d connections and %d goroutines more\n%s", open.Load(), runtime.NumGoroutine()-before, stacks[:runtime.Stack(stacks, true)])
				}
				runtime.Gosched()
			}
		})
	}
}

// TestRequestsAfterClose: a client that was closed goes on, with a connection for each request,
// and never sends one on a connection that it has just closed.
func TestRequestsAfterClose(t *testing.T) {
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(protocol, func(t *testing.T) {
			s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "{}") }))
			s.EnableHTTP2 = protocol == "HTTP/2.0"
			s.StartTLS()
			defer s.Close()
			rest, err := NewREST(Config{Host: s.URL, TLS: s.Client().Transport.(*http.Transport).TLSClientConfig})
			if err != nil {
				t.Fatal(err)
			}
			rest.Close()
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					for range 100 {
						answer, err := rest.sendOnce(t.Context(), request{method: http.MethodPost, path: "/x", body: []byte("{}"), contentType: jsonType})
						if err != nil {
							t.Error(err)
							return
						}
						answer.Body.Close()
					}
				})
			}
			all.Wait()
		})
	}
}
