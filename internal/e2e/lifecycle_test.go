package e2e

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// TestCommandLineMistakes: a message with the mistake and the remedy, and exit status 1.
func TestCommandLineMistakes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ args, want string }{
		{"serve --no-such-flag", "capstan: unknown flag --no-such-flag; see --help\nRun 'capstan serve --help' for usage.\n"},
		{"serve --data-dri=x", "capstan: unknown flag --data-dri; did you mean --data-dir?\nRun 'capstan serve --help' for usage.\n"},
		{"serve --secure-prot 1", "capstan: unknown flag --secure-prot; did you mean --secure-port?\nRun 'capstan serve --help' for usage.\n"},
	} {
		out, err := exec.Command(binaries.capstan, strings.Fields(test.args)...).CombinedOutput()
		if status := (*exec.ExitError)(nil); !errors.As(err, &status) || status.ExitCode() != 2 || string(out) != test.want {
			t.Errorf("capstan %s: %v, %s", test.args, err, out)
		}
	}
}

// refused starts a server that must not start, and compares its message.
func refused(t *testing.T, dir string, want ...string) {
	t.Helper()
	i, err := start(dir)
	if err == nil {
		_ = i.stop()
		t.Fatal("the server started")
	}
	if status := (*exec.ExitError)(nil); !errors.As(err, &status) || status.ExitCode() != 1 {
		t.Errorf("%v, want exit status 1", err)
	}
	for _, text := range append(want, "capstan: ") {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("the message lacks %q: %v", text, err)
		}
	}
}

// TestSecondServerIsRefused starts a second server on a directory in use; the
// first one serves on.
func TestSecondServerIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := serve(t, dir)
	refused(t, dir, "in use", dir, "stop that process or choose another directory")
	if _, err := first.client(t).CoreV1().Namespaces().Get(testContext(t), "default", metav1.GetOptions{}); err != nil {
		t.Errorf("the first server does not answer any more: %v", err)
	}
}

// TestForeignStoreIsRefused alters a data directory as another format of the store and a
// later library would.
func TestForeignStoreIsRefused(t *testing.T) {
	t.Parallel()
	for name, alter := range map[string]func(t *testing.T, store string){
		"key order": func(t *testing.T, store string) {
			for _, path := range glob(t, store, "OPTIONS-*") {
				text, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				changed := strings.Replace(string(text), "comparer=capstan-versions-1\n", "comparer=capstan-versions-2\n", 1)
				if changed == string(text) {
					t.Fatalf("%s names no comparer:\n%s", path, text)
				}
				if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		},
		"library": func(t *testing.T, store string) {
			for _, path := range glob(t, store, "marker.format-version.*") {
				if err := os.Rename(path, strings.TrimSuffix(path, filepath.Ext(path))+".999"); err != nil {
					t.Fatal(err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := serve(t, dir).stop(); err != nil {
				t.Fatal(err)
			}
			alter(t, filepath.Join(dir, "store"))
			refused(t, dir, "the data directory", "format", "use the binary that wrote it")
		})
	}
}

func glob(t *testing.T, dir, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no %s in %s (%v)", pattern, dir, err)
	}
	return paths
}

// TestStopDuringWatchAndWrites ends a server while clients write and one
// watches. Every write that was acknowledged is there after a restart, and the
// watch goes on where it was, without gap or repetition. SIGTERM also ends the
// process and the watch well.
func TestStopDuringWatchAndWrites(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]os.Signal{"term": syscall.SIGTERM, "kill": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			ctx := testContext(t)
			server := serve(t, dir)
			client := server.client(t)
			stream, err := client.CoreV1().RESTClient().Get().AbsPath("/api/v1/namespaces/default/configmaps").
				Param("watch", "true").Param("resourceVersion", "0").Stream(ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer stream.Close()
			ended := make(chan watched, 1)
			go func() { ended <- readWatch(stream) }()

			acknowledged := writeUntilRefused(t, client, 200, func() {
				if err := server.end(signal); signal == syscall.SIGTERM && err != nil {
					t.Errorf("the server ended with %v\n%s", err, server.log.String())
				}
			})
			saw := <-ended
			if signal == syscall.SIGTERM && saw.err != nil {
				t.Errorf("the watch ended with %v, want its regular end", saw.err)
			}
			t.Logf("%d writes acknowledged, %d events seen", len(acknowledged), len(saw.names))

			client = serve(t, dir).client(t)
			list, err := client.CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			stored := make(map[string]string)
			for _, object := range list.Items {
				stored[object.Name] = object.ResourceVersion
			}
			for name, revision := range acknowledged {
				if stored[name] != revision {
					t.Errorf("%s was acknowledged at %s and is stored at %q", name, revision, stored[name])
				}
			}
			resumed, err := client.CoreV1().ConfigMaps("default").Watch(ctx, metav1.ListOptions{ResourceVersion: saw.last})
			if err != nil {
				t.Fatal(err)
			}
			defer resumed.Stop()
			for len(saw.names) < len(stored) {
				event, open := <-resumed.ResultChan()
				object, ok := event.Object.(*corev1.ConfigMap)
				if !open || !ok {
					t.Fatalf("the watch gave %d of %d objects, then %v", len(saw.names), len(stored), event)
				}
				saw.add(object.Name, object.ResourceVersion)
			}
			for name, n := range saw.names {
				if _, ok := stored[name]; !ok || n != 1 {
					t.Errorf("the watches showed %s %d times; stored: %t", name, n, ok)
				}
			}
			if saw.disorder != "" {
				t.Error(saw.disorder)
			}
		})
	}
}

// writeUntilRefused creates objects from several goroutines until that fails,
// calls stop after some were acknowledged, and returns those with their
// revisions.
func writeUntilRefused(t *testing.T, client *kubernetes.Clientset, enough int, stop func()) map[string]string {
	acknowledged := make(map[string]string)
	var mu sync.Mutex
	var group sync.WaitGroup
	reached := make(chan struct{})
	for writer := range 8 {
		group.Go(func() {
			for n := 0; ; n++ {
				name := fmt.Sprintf("w%d-%d", writer, n)
				object, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), configMap(name, nil), metav1.CreateOptions{})
				if err != nil {
					return
				}
				mu.Lock()
				acknowledged[name] = object.ResourceVersion
				if len(acknowledged) == enough {
					close(reached)
				}
				mu.Unlock()
			}
		})
	}
	ended := make(chan struct{})
	go func() { group.Wait(); close(ended) }()
	select {
	case <-reached:
	case <-ended:
		t.Fatal("writes were refused before the server was told to stop")
	}
	stop()
	<-ended
	return acknowledged
}

// watched is the result of a watch of new objects.
type watched struct {
	names    map[string]int // how often
	last     string         // resourceVersion of the last event
	disorder string         // the first event that was out of order
	err      error          // nil for the regular end
}

func (w *watched) add(name, revision string) {
	before, _ := strconv.ParseUint(w.last, 10, 64)
	after, err := strconv.ParseUint(revision, 10, 64)
	if (err != nil || after <= before) && w.disorder == "" {
		w.disorder = fmt.Sprintf("%s at %q came after %q", name, revision, w.last)
	}
	w.names[name]++
	w.last = revision
}

// readWatch reads a watch to its end.
func readWatch(stream io.Reader) watched {
	w := watched{names: make(map[string]int)}
	lines := bufio.NewScanner(stream)
	for lines.Scan() {
		var event struct {
			Type   string
			Object corev1.ConfigMap
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil || event.Type != "ADDED" {
			w.err = fmt.Errorf("event %q (%v)", lines.Text(), err)
			return w
		}
		w.add(event.Object.Name, event.Object.ResourceVersion)
	}
	w.err = lines.Err()
	return w
}

// startCost bounds the processor time of a start, which hardly depends on what else the
// machine does, on slow machines; the aim is 100 ms.
const startCost = 2 * time.Second

// TestStartAndIdle measures how long a server takes to say that it is ready, on
// a new and on an existing store, and how much memory it then holds.
func TestStartAndIdle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, store := range []string{"new", "existing"} {
		began := time.Now()
		server := serve(t, dir)
		client, err := rest.HTTPClientFor(server.config(t))
		if err != nil {
			t.Fatal(err)
		}
		took, ready := untilReady(t, client, server.url, began, startLimit)
		if !ready {
			t.Errorf("%s store: not ready after %s", store, took)
		}
		resident := server.resident()
		if err := server.stop(); err != nil {
			t.Error(err)
		}
		state := server.cmd.ProcessState
		cost := state.UserTime() + state.SystemTime()
		if cost > startCost {
			t.Errorf("%s store: the start and the end took %s of processor time, want less than %s", store, cost, startCost)
		}
		t.Logf("%s store: ready after %s, %s of processor time, %s resident", store, took.Round(time.Millisecond), cost, resident)
	}
}

// untilReady polls /readyz until the server is ready or the limit is over, and returns
// the time since the given start.
func untilReady(t *testing.T, client *http.Client, url string, began time.Time, limit time.Duration) (took time.Duration, ready bool) {
	t.Helper()
	for ; time.Since(began) < limit; time.Sleep(5 * time.Millisecond) {
		answer, err := client.Get(url + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			return time.Since(began), true
		}
	}
	return time.Since(began), false
}

// resident is the memory of the process as Linux counts it.
func (i *instance) resident() string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", i.cmd.Process.Pid))
	if err != nil {
		return "unknown"
	}
	_, after, _ := strings.Cut(string(text), "VmRSS:")
	line, _, _ := strings.Cut(after, "\n")
	return strings.TrimSpace(line)
}
