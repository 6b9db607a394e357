package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/capstan-dev/capstan/internal/streamtest"
)

const (
	// soakPause is the time that the server stands still: longer than the pauses of
	// bookmarks, and than the bounds of writes and requests.
	soakPause = 75 * time.Second
	// soakSettle bounds the time that its clients need afterwards.
	soakSettle = 45 * time.Second
	// soakWatch is the timeoutSeconds of some watches: more than twice the allowed time
	// of a write, a request or an idle connection.
	soakWatch = 150
)

// TestSoak keeps watches in every transport and informers on the real binary, in real
// time, idle or with an event now and then, past all time-outs of the server and through
// a time in which its process stands still: every watch ends as it should, clients that
// do not read are dropped, and the server does not grow. CAPSTAN_SOAK is the duration.
func TestSoak(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv("CAPSTAN_SOAK"))
	if err != nil {
		t.Skip("CAPSTAN_SOAK says for how long, like 10m; make soak")
	}
	s := newSoak(t)
	stalled := s.stall()
	for _, w := range soakWatches() {
		s.follow(w)
	}
	s.inform()
	s.write()
	time.Sleep(time.Minute)
	warm := s.measure()
	time.Sleep(length/2 - time.Minute)
	s.pause()
	for end := time.Now().Add(length/2 - soakPause); time.Now().Before(end); time.Sleep(time.Minute) {
		s.measure()
	}
	s.finish(warm, stalled)
}

// soak is a server under test with its clients.
type soak struct {
	*testing.T
	server *instance
	client *kubernetes.Clientset
	target streamtest.Target

	over    context.Context // ends when watches are not opened again
	endOver context.CancelFunc
	clients sync.WaitGroup // watches that end by themselves, and the writer
	open    sync.WaitGroup // those that end with the server
	steady  atomic.Int64   // until when, in Unix seconds, clients may complain: the server stood still
	last    atomic.Int64   // number of the last write that was acknowledged
	reader  cache.SharedIndexInformer
	stopped chan struct{} // closed when informers are to end
	ended   map[string]int
	mu      sync.Mutex
}

func newSoak(t *testing.T) *soak {
	s := &soak{T: t, stopped: make(chan struct{}), ended: map[string]int{}}
	var err error
	if s.server, err = start(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.server.cmd.Process.Kill() })
	s.client = s.server.client(t)
	tls, err := rest.TLSConfigFor(s.server.config(t))
	if err != nil {
		t.Fatal(err)
	}
	s.target = streamtest.Target{URL: s.server.url, TLS: tls}
	s.over, s.endOver = context.WithCancel(t.Context())
	klog.SetLogger(funcr.New(func(prefix, line string) { s.complain("client-go: %s %s", prefix, line) }, funcr.Options{}))
	t.Cleanup(func() { klog.SetLogger(logr.Discard()) })
	for _, name := range []string{"trickle", "quiet"} {
		s.must(s.client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}))
	}
	s.must(s.client.CoreV1().Secrets("default").Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "large"}}, metav1.CreateOptions{}))
	return s
}

func (s *soak) must(_ any, err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// complain is an error, but for a while after the server stood still.
func (s *soak) complain(format string, args ...any) {
	text := time.Now().Format(time.TimeOnly) + " " + fmt.Sprintf(format, args...)
	if time.Now().Unix() < s.steady.Load() {
		s.Log("after the pause: " + text)
	} else {
		s.Error(text)
	}
}

// soaked is a watch of the matrix.
type soaked struct {
	streamtest.Watch
	trickles, bookmarks, timed bool
}

func (w soaked) String() string {
	return fmt.Sprintf("%s binary=%t trickles=%t bookmarks=%t timeoutSeconds=%t", w.Transport, w.Binary, w.trickles, w.bookmarks, w.timed)
}

func soakWatches() (all []soaked) {
	for _, transport := range streamtest.Transports {
		for bits := range 1 << 4 {
			w := soaked{Watch: streamtest.Watch{Transport: transport, Binary: bits&1 != 0}, trickles: bits&2 != 0, bookmarks: bits&4 != 0, timed: bits&8 != 0}
			name := "quiet"
			if w.trickles {
				name = "trickle"
			}
			w.Path = "/api/v1/namespaces/default/configmaps?watch=1&fieldSelector=metadata.name%3D" + name
			if w.bookmarks {
				w.Path += "&allowWatchBookmarks=true"
			}
			if w.timed {
				w.Path += fmt.Sprintf("&timeoutSeconds=%d", soakWatch)
			}
			all = append(all, w)
		}
	}
	return all
}

// follow reads a watch to its end: again and again if that comes by itself.
func (s *soak) follow(w soaked) {
	wait := &s.open
	if w.timed {
		wait = &s.clients
	}
	wait.Go(func() {
		for once := true; once || w.timed && s.over.Err() == nil; once = false {
			stream, err := streamtest.Open(s.Context(), s.target, w.Watch)
			if err != nil {
				s.complain("%v", err)
				continue
			}
			begun := time.Now()
			seen, err := stream.All()
			stream.Close()
			s.mu.Lock()
			s.ended[string(w.Transport)]++
			s.mu.Unlock()
			switch took := time.Since(begun); {
			case err != nil:
				s.complain("%s: after %s and %v: %v", w, took, seen, err)
			case seen["ADDED"] != 1, seen["ERROR"] > 0, w.trickles != (seen["MODIFIED"] > 0), w.bookmarks != (seen["BOOKMARK"] > 1), w.timed && took < (soakWatch-1)*time.Second:
				s.complain("%s: %v in %s", w, seen, took)
			}
		}
	})
}

// stall opens a watch in each transport that is not read, of a secret that is
// large and changes often.
func (s *soak) stall() (streams []*streamtest.Stream) {
	for _, transport := range streamtest.Transports {
		stream, err := streamtest.Open(s.Context(), s.target, streamtest.Watch{Transport: transport, Path: "/api/v1/secrets?watch=1"})
		if err != nil {
			s.Fatal(err)
		}
		streams = append(streams, stream)
	}
	return streams
}

// inform runs informers, of changing and of constant objects.
func (s *soak) inform() {
	all := informers.NewSharedInformerFactory(s.client, 0)
	s.reader = all.Core().V1().ConfigMaps().Informer()
	for _, i := range []cache.SharedIndexInformer{s.reader, all.Core().V1().Nodes().Informer(), all.Core().V1().Services().Informer(), all.Apps().V1().Deployments().Informer()} {
		_ = i.SetWatchErrorHandler(func(_ *cache.Reflector, err error) { s.complain("informer: %v", err) })
	}
	all.Start(s.stopped)
	all.WaitForCacheSync(s.stopped)
	s.Cleanup(all.Shutdown)
}

// write changes an object every second, and the large one for the first minutes.
func (s *soak) write() {
	large := map[string][]byte{"k": make([]byte, 500<<10)}
	s.clients.Go(func() {
		for n := int64(1); s.over.Err() == nil; n++ {
			time.Sleep(time.Second)
			_, err := s.client.CoreV1().ConfigMaps("default").Update(s.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "trickle"}, Data: map[string]string{"n": strconv.FormatInt(n, 10)}}, metav1.UpdateOptions{})
			if err == nil {
				s.last.Store(n)
			} else {
				s.complain("write: %v", err)
			}
			if n < 60 {
				large["k"][0] = byte(n)
				if _, err := s.client.CoreV1().Secrets("default").Update(s.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "large"}, Data: large}, metav1.UpdateOptions{}); err != nil {
					s.complain("write: %v", err)
				}
			}
		}
	})
}

// pause lets the server's process stand still for a while.
func (s *soak) pause() {
	s.steady.Store(time.Now().Add(soakPause + soakSettle).Unix())
	s.must(nil, s.server.cmd.Process.Signal(syscall.SIGSTOP))
	time.Sleep(soakPause)
	s.must(nil, s.server.cmd.Process.Signal(syscall.SIGCONT))
}

// figures are those of the process after a run of its garbage collector.
type figures struct{ goroutines, heap, resident, secrets float64 }

func (s *soak) measure() (f figures) {
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
	defer cancel()
	get := func(path string) []byte {
		text, err := s.client.RESTClient().Get().AbsPath(path).Do(ctx).Raw()
		s.must(nil, err)
		return text
	}
	_, err := s.client.RESTClient().Get().AbsPath("/debug/pprof/heap").Param("gc", "1").Do(ctx).Raw()
	s.must(nil, err)
	for line := range strings.Lines(string(get("/metrics"))) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, _ := strconv.ParseFloat(value, 64) // other lines have none
		switch {
		case name == "go_goroutines":
			f.goroutines = n
		case name == "go_memstats_heap_alloc_bytes":
			f.heap = n
		case name == "process_resident_memory_bytes":
			f.resident = n
		case strings.HasPrefix(name, "apiserver_longrunning_requests") && strings.Contains(name, `resource="secrets"`):
			f.secrets = n
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var ended []string
	for _, transport := range slices.Sorted(maps.Keys(s.ended)) {
		ended = append(ended, fmt.Sprintf("%s %d", transport, s.ended[transport]))
	}
	s.Logf("%s %.0f goroutines, heap %.1f MiB, resident %.1f MiB, %.0f stalled watches; ended: %s", time.Now().Format(time.TimeOnly), f.goroutines, f.heap/(1<<20), f.resident/(1<<20), f.secrets, strings.Join(ended, ", "))
	return f
}

// finish ends everything, and looks whether it ends as it should.
func (s *soak) finish(warm figures, stalled []*streamtest.Stream) {
	end := s.measure()
	if end.secrets > 0 {
		s.Errorf("%.0f clients that do not read are still served", end.secrets)
	}
	if most := warm.goroutines + 20; end.goroutines > most {
		s.Errorf("%.0f goroutines, at most %.0f are allowed", end.goroutines, most)
	}
	if most := 1.2*warm.heap + 8<<20; end.heap > most {
		s.Errorf("a heap of %.0f bytes, at most %.0f are allowed", end.heap, most)
	}
	if most := 1.3*warm.resident + 32<<20; end.resident > most {
		s.Errorf("%.0f bytes are resident, at most %.0f are allowed", end.resident, most)
	}
	for _, stream := range stalled {
		stream.Close()
	}
	s.endOver()
	s.clients.Wait()
	want := strconv.FormatInt(s.last.Load(), 10)
	for got, deadline := "", time.Now().Add(10*time.Second); got != want; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.Errorf("the informer has %q, the last write was %s", got, want)
			break
		}
		if object, ok, _ := s.reader.GetStore().GetByKey("default/trickle"); ok {
			got = object.(*corev1.ConfigMap).Data["n"]
		}
	}
	s.steady.Store(time.Now().Add(time.Hour).Unix()) // client-go's messages at the end
	close(s.stopped)
	s.must(nil, s.server.cmd.Process.Signal(syscall.SIGTERM))
	s.open.Wait() // with a proper end
	if err := <-s.server.exited; err != nil {
		s.Errorf("the server ended with %v", err)
	}
}
