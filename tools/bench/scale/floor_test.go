package scale

import (
	"bytes"
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// floor is the unit of the rows: a server that moves the bytes of a request and of its answer
// over HTTPS, syncs each change to the disk, or has an etcd do so and waits until it sees the change
// in a watch, and understands nothing of either. The client
// names the length of an answer in the header Answer-Bytes, for lists that of an item, so
// that both servers send as much. It runs in a process of its own, which is this test's
// program too.
type floor struct {
	disk keeper

	mu       sync.Mutex
	objects  map[string][]byte   // by path, as sent, and blanks
	lists    map[string][][]byte // by the path of the collection, as created
	watchers map[string][]chan []byte
}

// keeper keeps the objects of a floor.
type keeper interface {
	set(key string, value []byte) error
	remove(key string) error
}

// onDisk keeps objects in a folder.
type onDisk struct{ *pebble.DB }

func (d onDisk) set(key string, value []byte) error { return d.Set([]byte(key), value, pebble.Sync) }

func (d onDisk) remove(key string) error { return d.Delete([]byte(key), pebble.Sync) }

// newKeeper is an etcd, by its URL, or a folder.
func newKeeper(place string) (keeper, error) {
	if strings.HasPrefix(place, "http") {
		return openEtcd(place)
	}
	disk, err := pebble.Open(place, &pebble.Options{Logger: quiet{}})
	return onDisk{disk}, err
}

// serveFloor serves a folder, or an etcd, on a free port until the process is killed.
func serveFloor(place string) error {
	disk, err := newKeeper(place)
	if err != nil {
		return err
	}
	certificate, err := ownCertificate()
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("floor listens on https://%s\n", l.Addr())
	f := &floor{disk: disk, objects: map[string][]byte{}, lists: map[string][][]byte{}, watchers: map[string][]chan []byte{}}
	server := http.Server{Handler: f, TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}}}
	return server.ServeTLS(l, "", "")
}

// quiet drops the messages of a Pebble that opens a folder.
type quiet struct{}

func (quiet) Infof(string, ...any)              {}
func (quiet) Errorf(format string, args ...any) { log.Printf(format, args...) }
func (quiet) Fatalf(format string, args ...any) { log.Fatalf(format, args...) }

func ownCertificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	t := x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().AddDate(0, 0, 1)}
	der, err := x509.CreateCertificate(rand.Reader, &t, &t, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

func (f *floor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	size, _ := strconv.Atoi(r.Header.Get("Answer-Bytes"))
	path := strings.TrimSuffix(r.URL.Path, "/status")
	query := r.URL.Query()
	switch {
	case r.Method == http.MethodGet && query.Has("watch"):
		f.watch(w, r, path)
	case r.Method == http.MethodGet:
		f.mu.Lock()
		object, items := f.objects[path], f.lists[path]
		f.mu.Unlock()
		if object != nil {
			answer(w, http.StatusOK, object[:min(size, len(object))])
			return
		}
		limit, _ := strconv.Atoi(cmp.Or(query.Get("limit"), r.Header.Get("Answer-Items")))
		from, _ := strconv.Atoi(query.Get("continue"))
		list(w, items, size, from, limit)
	case r.Method == http.MethodDelete:
		must(f.disk.remove(path))
		answer(w, http.StatusOK, bytes.Repeat([]byte{' '}, size))
	default:
		f.change(w, r, path, size)
	}
}

// change stores the body of a request, lengthened to the answer.
func (f *floor) change(w http.ResponseWriter, r *http.Request, path string, size int) {
	sent, err := io.ReadAll(r.Body)
	must(err)
	object := append(make([]byte, 0, max(size, len(sent))), sent...)
	for len(object) < size {
		object = append(object, ' ')
	}
	collection, code := path, http.StatusOK
	if r.Method == http.MethodPost {
		_, after, _ := bytes.Cut(sent, []byte(`"name":"`))
		name, _, _ := bytes.Cut(after, []byte(`"`))
		path, code = collection+"/"+string(name), http.StatusCreated
	}
	must(f.disk.set(path, object))
	f.mu.Lock()
	f.objects[path] = object
	if r.Method == http.MethodPost {
		f.lists[collection] = append(f.lists[collection], object)
	} else if watchers := f.watchers[path[:strings.LastIndexByte(path, '/')]]; len(watchers) > 0 {
		event := append(append([]byte(`{"type":"MODIFIED","object":`), object...), '}', '\n')
		for _, c := range watchers {
			c <- event
		}
	}
	f.mu.Unlock()
	answer(w, code, object)
}

// list sends items from an index on, up to a limit if there is one, each with a length.
func list(w http.ResponseWriter, items [][]byte, size, from, limit int) {
	end, next := len(items), ""
	if limit > 0 && from+limit < end {
		end = from + limit
		next = strconv.Itoa(end)
	}
	w.Header().Set("Content-Type", "application/json")
	out := fmt.Appendf(make([]byte, 0, 128<<10), `{"metadata":{"continue":%q},"items":[`, next)
	for i, item := range items[from:end] {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, item[:min(size, len(item))]...)
		if out = append(out, blanks[:max(0, min(size-len(item), len(blanks)))]...); len(out) > 90<<10 {
			_, _ = w.Write(out)
			out = out[:0]
		}
	}
	_, _ = w.Write(append(out, ']', '}'))
}

// watch sends the changes of a collection while the client is there, after an event that
// shows that they will come.
func (f *floor) watch(w http.ResponseWriter, r *http.Request, collection string) {
	changes := make(chan []byte, 4096)
	f.mu.Lock()
	f.watchers[collection] = append(f.watchers[collection], changes)
	f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"type":"ADDED","object":{}}`+"\n")
	for {
		w.(http.Flusher).Flush()
		select {
		case event := <-changes:
			_, _ = w.Write(event)
		case <-r.Context().Done():
			return
		}
	}
}

// blanks make up for what a change has added to an item.
var blanks = bytes.Repeat([]byte{' '}, 4<<10)

func answer(w http.ResponseWriter, code int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(code)
	_, _ = w.Write(body)
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
