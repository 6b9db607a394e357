package scale

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/store"
)

// The bounds of TestMuch, at every size.
const (
	muchResident = 1024.0 // MiB, while ten clients page
	muchReady    = time.Second
	muchWrite    = 1.1 // times the cost in an empty store
	muchSelector = 20 * time.Millisecond
	muchDisk     = 1.6 // times the bytes of the objects, from 100,000 on
)

// originals is the number of objects of each kind that are made through the API; all others are
// copies of them, written to the store while no server runs.
const originals = 200

// much is a store that grows.
type much struct {
	t       *testing.T
	dir     string
	objects [2][]store.Entry // the originals: config maps, pods
	made    [2]int
	bytes   int64 // of all objects
	random  string
}

// The costs of a store with a million config maps of 1 KiB and 200,000 pods, on the way
// there: a restart, a write compared with one in a small store, a selector that matches 50
// pods, memory while ten clients page through everything, and space on the disk. OBJECTS
// is another number of config maps, FIGURE a file for the curves.
func TestMuch(t *testing.T) {
	total := 1_000_000
	_, _ = fmt.Sscan(os.Getenv("OBJECTS"), &total)
	small := startOn(t, t.TempDir(), "--history", "2s")
	defer small.stop()
	m := &much{t: t, dir: t.TempDir(), random: randomText(1 << 20)}
	s := startOn(t, m.dir, "--history", "2s")
	m.seed(small, s)
	s.stop()
	var all []point
	for _, size := range []int{total / 100, total / 10, total / 3, total} {
		begin := time.Now()
		m.grow(size, size/5)
		t.Logf("%d config maps and %d pods, %d MiB, %.0f s to make", size, size/5, m.bytes>>20, time.Since(begin).Seconds())
		all = append(all, m.measure(small, size))
	}
	if file := os.Getenv("FIGURE"); file != "" {
		if err := os.WriteFile(file, draw(all), 0o644); err != nil {
			t.Error(err)
		}
	}
}

// seed makes the originals.
func (m *much) seed(servers ...*instance) {
	for _, s := range servers {
		s.send(http.MethodPost, "/api/v1/namespaces/default/serviceaccounts", "application/json", `{"metadata":{"name":"measured"}}`)
		for i := range originals {
			s.send(http.MethodPost, collection, "application/json", fmt.Sprintf(`{"metadata":{"name":"m-%07d","labels":{"part":"part-%07d"}},"data":{"text":%q}}`, i, i/50, m.text(i)))
			s.send(http.MethodPost, pods, "application/json", strings.NewReplacer(fmt.Sprintf("pod-%06d", i), fmt.Sprintf("m-%07d", i), `"labels":{`, fmt.Sprintf(`"labels":{"part":"part-%07d",`, i/50),
				`"spec":{`, `"spec":{"serviceAccountName":"measured",`).Replace(pod(i)))
		}
	}
}

func randomText(n int) string {
	raw := make([]byte, n)
	for i := range raw {
		raw[i] = byte(rand.Uint32())
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

// text is the content of a config map: 760 bytes, so that the whole is 1 KiB, which
// do not repeat themselves.
func (m *much) text(i int) string { return m.random[i*7919%1_000_000:][:760] }

// grow adds copies of the originals, until there are so many config maps and pods.
func (m *much) grow(configMaps, pods int) {
	m.t.Helper()
	db, err := store.Open(store.Config{Dir: filepath.Join(m.dir, "store"), History: 2 * time.Second})
	if err != nil {
		m.t.Fatal(err)
	}
	for which, prefix := range []string{"core/configmaps/default/m-", "core/pods/default/m-"} {
		if m.objects[which] == nil {
			m.objects[which] = m.read(db, prefix)
			m.made[which] = originals
		}
		var next atomic.Int64
		next.Store(int64(m.made[which]))
		var bytes atomic.Int64
		var failed atomic.Pointer[error]
		var writers sync.WaitGroup
		const together = 200
		most := int64([]int{configMaps, pods}[which])
		for range 4 {
			writers.Go(func() {
				for from := next.Add(together) - together; from < most && failed.Load() == nil; from = next.Add(together) - together {
					n, err := m.copies(db, m.objects[which], int(from), int(min(from+together, most)))
					if bytes.Add(n); err != nil {
						failed.Store(&err)
					}
				}
			})
		}
		writers.Wait()
		if err := failed.Load(); err != nil {
			m.t.Fatal(*err)
		}
		m.made[which] = int(most)
		m.bytes += bytes.Load()
	}
	if err := db.Close(); err != nil {
		m.t.Fatal(err)
	}
}

// read returns the originals of a kind.
func (m *much) read(db *store.Engine, prefix string) (all []store.Entry) {
	m.t.Helper()
	r, err := db.At(context.Background(), 0)
	if err != nil {
		m.t.Fatal(err)
	}
	err = r.Scan(context.Background(), prefix, "", func(e *store.Entry) bool {
		const member = `"resourceVersion":"`
		at := bytes.Index(e.Body, []byte(member)) + len(member)
		digits := bytes.IndexByte(e.Body[at:], '"')
		all = append(all, store.Entry{Key: strings.Clone(e.Key), Value: store.Value{
			Meta: bytes.Clone(e.Meta), Body: slices.Concat(e.Body[:at], e.Body[at+digits:]), RevisionAt: at}})
		m.bytes += int64(len(e.Body))
		return true
	})
	if closed := r.Close(); err != nil || closed != nil || len(all) != originals {
		m.t.Fatalf("%d originals, %v, %v", len(all), err, closed)
	}
	return all
}

// copies writes copies of originals, with other names, uids, labels and texts of the same
// length, and returns the number of their bytes.
func (m *much) copies(db *store.Engine, of []store.Entry, from, to int) (n int64, err error) {
	keys, writes := make([]string, 0, to-from), make([]store.Write, 0, to-from)
	for i := from; i < to; i++ {
		k := i % originals
		change := strings.NewReplacer(fmt.Sprintf("m-%07d", k), fmt.Sprintf("m-%07d", i), fmt.Sprintf("part-%07d", k/50), fmt.Sprintf("part-%07d", i/50), m.text(k), m.text(i))
		v := store.Value{Meta: []byte(change.Replace(string(of[k].Meta))), Body: []byte(change.Replace(string(of[k].Body))), RevisionAt: of[k].RevisionAt}
		copy(v.Body[bytes.Index(v.Body, []byte(`"uid":"`))+len(`"uid":"`):], fmt.Sprintf("%08x", i))
		keys, writes = append(keys, change.Replace(of[k].Key)), append(writes, store.Write{Op: store.OpCreate, Value: v})
		n += int64(len(v.Body))
	}
	_, err = db.UpdateAll(context.Background(), keys, func([]*store.Entry) ([]store.Write, error) { return writes, nil })
	return n, err
}

// point is a measurement at a size.
type point struct {
	objects int
	costs   []float64 // in the order of curves
}

// curves are the measured costs.
var curves = []struct {
	name, unit string
	bound      float64
}{
	{"resident, ten clients paging", "MiB", muchResident},
	{"restart to ready", "ms", float64(muchReady.Milliseconds())},
	{"write, to one in a small store", "times", muchWrite},
	{"selector that matches 50 pods", "ms", float64(muchSelector.Milliseconds())},
	{"disk, to the objects", "times", muchDisk},
}

// measure measures a server on the store.
func (m *much) measure(small *instance, size int) point {
	ready := time.Hour
	var s *instance
	for i := range 3 {
		s = startOn(m.t, m.dir, "--history", "2s")
		if ready = min(ready, s.untilReady()); i < 2 {
			s.stop()
		}
	}
	defer s.stop()
	work := s.calm()
	first, usual := m.selects(s)
	write := m.writes(s, small)
	page := s.peakWhile(func() {
		var clients sync.WaitGroup
		until := time.Now().Add(30 * time.Second)
		for i := range 10 {
			clients.Go(func() {
				if _, err := s.pages([]string{collection, pods}[i%2]+"?limit=500", "", until); err != nil {
					m.t.Error(err)
				}
			})
		}
		clients.Wait()
	})
	rest := settled(s) / 1024
	disk := float64(m.disk()) / float64(m.bytes)
	m.t.Logf("ready after %.0f ms; a write costs %.2f times that in a small store; 50 pods by a label in %.1f ms, the first time %.1f; %.0f MiB while ten page, %.0f at rest; disk %.2f times the objects; %.1f s of CPU until all was read",
		ms(ready), write, ms(usual), ms(first), page, rest, disk, work.Seconds())
	p := point{size, []float64{page, ms(ready), write, ms(usual), disk}}
	for i, c := range curves {
		if p.costs[i] > c.bound && (c.bound != muchDisk || size >= 100_000) {
			m.t.Errorf("%s: %.2f %s with %d config maps, the bound is %.1f", c.name, p.costs[i], c.unit, size, c.bound)
		}
	}
	return p
}

// calm waits until the controllers have read everything, which they do after the start at
// leisure, and returns the CPU time of the server so far.
func (s *instance) calm() time.Duration {
	last := s.exactCPU()
	for still, tries := 0, 0; still < 4 && tries < 240; tries++ {
		time.Sleep(500 * time.Millisecond)
		now := s.exactCPU()
		if still++; now-last > 15*time.Millisecond {
			still = 0
		}
		last = now
	}
	return last
}

// selects lists 50 pods by a label, and returns the times of the first list and of the one
// in the middle.
func (m *much) selects(s *instance) (first, usual time.Duration) {
	var all []time.Duration
	for i := range 21 {
		begin := time.Now()
		if n := bytes.Count(s.send(http.MethodGet, fmt.Sprintf("%s?labelSelector=part%%3Dpart-%07d", pods, i*2%(m.made[1]/50)), "", ""), []byte(`"uid"`)); n < 50 {
			m.t.Fatalf("a selector matches %d pods", n)
		}
		all = append(all, time.Since(begin))
	}
	return all[0], median(all[1:])
}

// writes compares the CPU time of creates, applies and deletes of config maps. The first
// round lets the store count its keys, once after a start.
func (m *much) writes(s, small *instance) float64 {
	var ratios []float64
	both := []*instance{s, small}
	for round := range 22 {
		if round == 1 {
			m.t.Logf("%.1f s of CPU until the keys are counted", s.calm().Seconds())
			ratios = nil
		}
		spent := map[*instance]time.Duration{}
		for _, r := range rowsOf(500, configMaps(s)) {
			if !slices.Contains([]string{"create-configmap", "apply-configmap", "delete-configmap"}, r.name) {
				continue
			}
			for i := range both {
				at := both[(i+round)%2]
				spent[at] += r.turn(m.t, at, "")
			}
		}
		ratios = append(ratios, float64(spent[s])/float64(spent[small]))
	}
	return median(ratios)
}

// disk is the space of the store without the reserve for a full disk, when nothing has
// changed in it for a while.
func (m *much) disk() (last int64) {
	for still, tries := 0, 0; still < 10 && tries < 240; tries++ {
		time.Sleep(500 * time.Millisecond)
		now := int64(0)
		_ = filepath.WalkDir(m.dir, func(_ string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && d.Name() != "RESERVE" {
				if info, err := d.Info(); err == nil {
					now += info.Size()
				}
			}
			return nil
		})
		if still++; now != last {
			still = 0
		}
		last = now
	}
	return last
}
