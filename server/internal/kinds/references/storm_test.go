package references_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestReferencesInAStorm has clients make, change and delete objects that name each other by references of both sorts, on servers
// that crash meanwhile, and judges the history of the store: no object names a missing one, owned objects go with their owners, and no others go.
// CAPSTAN_STRESS=1 takes six seeds and more steps, CAPSTAN_SEED begins with another one.
func TestReferencesInAStorm(t *testing.T) {
	seeds, steps, first := 1, 60, rand.Uint64N(1e6)
	if os.Getenv("CAPSTAN_STRESS") != "" {
		seeds, steps = 6, 300
	}
	if text := os.Getenv("CAPSTAN_SEED"); text != "" {
		first, _ = strconv.ParseUint(text, 10, 64)
	}
	for seed := first; seed < first+uint64(seeds); seed++ {
		for _, engine := range []string{"embedded", "etcd"} {
			t.Run(fmt.Sprintf("%s seed %d", engine, seed), func(t *testing.T) {
				s := openStorm(t, seed, engine == "etcd")
				s.rage(steps)
				s.settle()
				s.judge()
			})
		}
	}
}

// storm is servers that share a store, of which all but the first of several crash.
type storm struct {
	t       *testing.T
	seed    uint64
	cfgs    []server.Config
	members []*member
	answers [600]atomic.Int64 // by code, 0 for none
	late    chan struct{}     // after some answers, for the next crash
}

// member is a server. Requests that begin while it is down wait.
type member struct {
	up      sync.RWMutex
	running *harness.Running
	client  *http.Client
}

func openStorm(t *testing.T, seed uint64, etcd bool) *storm {
	tokens := filepath.Join(t.TempDir(), "tokens.csv")
	if err := os.WriteFile(tokens, []byte(harness.AdminToken+",admin,1,system:masters\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &storm{t: t, seed: seed, late: make(chan struct{}, 1)}
	url := ""
	for i := range map[bool]int{false: 1, true: 3}[etcd] {
		cfg := server.Config{DataDir: "data", FS: vfs.NewCrashableMem(), API: stormy(), PKI: server.PKI{TokenAuthFile: tokens}, Background: server.Background{
			Controllers: []string{"garbagecollector"}, DisablePriorityAndFairness: true}}
		if etcd {
			if i == 0 {
				url = harness.Etcd(t)
			}
			harness.OnEtcd(&cfg, url, "/registry")
		}
		s.cfgs, s.members = append(s.cfgs, cfg), append(s.members, &member{})
		s.members[i].start(t, cfg)
	}
	t.Cleanup(func() {
		for _, m := range s.members {
			m.end(10 * time.Second)
		}
	})
	return s
}

// stormy is the API: trucks keep the depot and the yard that they name, and go with their home, their base, and the truck that tows them.
func stormy() *api.API {
	return harness.FleetAPI(nil, harness.RefersTo("depots", "Depot", "depot", api.MissingRefused, api.DeleteRestricted),
		harness.RefersTo("yards", "Yard", "yard", api.MissingRefused, api.DeleteRestricted),
		harness.RefersTo("depots", "Depot", "home", api.MissingRefused, api.DeleteCascades),
		harness.RefersTo("yards", "Yard", "base", api.MissingRefused, api.DeleteCascades),
		harness.RefersTo("trucks", "Truck", "towed", api.MissingRefused, api.DeleteCascades))
}

func (m *member) start(t *testing.T, cfg server.Config) {
	running, err := harness.Launch(context.Background(), cfg)
	if err != nil {
		t.Error(err)
		return
	}
	<-running.Bootstrapped()
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(running.CA())
	m.running, m.client = running, &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}}
}

func (m *member) end(limit time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	_ = m.running.Shutdown(ctx) // whose time may be over
	m.client.CloseIdleConnections()
}

// crash has a server end in the middle of its work, lose its unsynced writes, and begin again.
func (s *storm) crash(i int, r *rand.Rand) {
	if disk, embedded := s.cfgs[i].FS.(*vfs.MemFS); embedded && s.cfgs[i].EtcdServers == nil {
		s.cfgs[i].FS = disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 50, RNG: r})
	}
	m := s.members[i]
	m.up.Lock()
	defer m.up.Unlock()
	m.end(time.Millisecond)
	m.start(s.t, s.cfgs[i])
}

// send is the answer of some server, with the code 0 for none.
func (s *storm) send(n int, method, path, media, body string) (code int, text []byte) {
	m := s.members[n%len(s.members)]
	m.up.RLock()
	at, client := m.running.URL(), m.client
	m.up.RUnlock()
	req, err := http.NewRequest(method, at+path, bytes.NewReader([]byte(body)))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+harness.AdminToken)
	req.Header.Set("Content-Type", media)
	resp, err := client.Do(req)
	if err == nil {
		defer resp.Body.Close()
		if text, err = io.ReadAll(resp.Body); err == nil {
			code = resp.StatusCode
		}
	}
	if s.answers[code].Add(1); code != 0 && s.answers[code].Load()%100 == 0 {
		select {
		case s.late <- struct{}{}:
		default:
		}
	}
	return code, text
}

// rage has the clients work, and the servers crash, until all have done their steps.
func (s *storm) rage(steps int) {
	done := make(chan struct{})
	var chaos sync.WaitGroup
	chaos.Go(func() {
		r := rand.New(rand.NewPCG(s.seed, 0))
		for {
			select {
			case <-done:
				return
			case <-s.late:
				if last := len(s.members) - 1; last == 0 {
					s.crash(0, r)
				} else {
					s.crash(1+r.IntN(last), r)
				}
			}
		}
	})
	harness.AtOnce(12, func(client int) {
		r := rand.New(rand.NewPCG(s.seed, 1+uint64(client)))
		for range steps {
			s.step(r)
		}
	})
	close(done)
	chaos.Wait()
	var all []string
	for code := range s.answers {
		if n := s.answers[code].Load(); n > 0 {
			all = append(all, fmt.Sprintf("%d: %d", code, n))
		}
	}
	s.t.Log(strings.Join(all, ", "))
}

// Trucks with a number below never are not deleted by clients, and those below alone name a home only.
const (
	depots, yards, trucks = 4, 2, 12
	never, alone          = 8, 4
)

// step is one request.
func (s *storm) step(r *rand.Rand) {
	n, truck := r.IntN(1e6), r.IntN(trucks)
	place, kinds := harness.Depots, depots
	if r.IntN(3) == 0 {
		place, kinds = harness.Yards, yards
	}
	name := fmt.Sprint("p", r.IntN(kinds))
	const media = "application/json"
	switch op := r.IntN(100); {
	case op < 22:
		s.send(n, http.MethodPost, place, media, harness.Named(name, ""))
	case op < 36:
		s.send(n, http.MethodDelete, place+"/"+name, media, []string{"", `{"propagationPolicy":"Foreground"}`, `{"propagationPolicy":"Background"}`}[r.IntN(3)])
	case op < 38:
		s.send(n, http.MethodDelete, place, media, "")
	case op < 44:
		s.send(n, http.MethodPatch, place+"/"+name, harness.MergePatchMedia, []string{`{"metadata":{"finalizers":["example.com/keep"]}}`, `{"metadata":{"finalizers":null}}`}[r.IntN(2)])
	case op < 64:
		s.send(n, http.MethodPost, harness.Trucks, media, harness.Named(fmt.Sprint("t", truck), names(r, truck, false)))
	case op < 84:
		s.send(n, http.MethodPatch, fmt.Sprintf("%s/t%d", harness.Trucks, truck), harness.MergePatchMedia, `{"data":{`+names(r, truck, true)+`}}`)
	case op < 90:
		s.send(n, http.MethodPatch, fmt.Sprintf("%s/t%d", harness.Trucks, truck), harness.MergePatchMedia, fmt.Sprintf(`{"metadata":{"ownerReferences":null,"labels":{"n":"%d"}}}`, n))
	case truck >= never:
		s.send(n, http.MethodDelete, fmt.Sprintf("%s/t%d", harness.Trucks, truck), media, []string{"", `{"propagationPolicy":"Foreground"}`}[r.IntN(2)])
	}
}

// names draws members of a truck; those of a patch may go.
func names(r *rand.Rand, truck int, patch bool) (data string) {
	fields := []string{"home", "depot", "yard", "base", "towed"}
	if truck < alone {
		fields = fields[:3]
	}
	for i, field := range fields {
		most := []int{depots, depots, yards, yards, trucks}[i]
		prefix := "p"
		if field == "towed" {
			prefix = "t"
		}
		switch r.IntN(4) {
		case 0:
			data += fmt.Sprintf(`,%q:"%s%d"`, field, prefix, r.IntN(most))
		case 1:
			if patch {
				data += fmt.Sprintf(`,%q:null`, field)
			}
		}
	}
	if data == "" {
		return `"home":"p0"`
	}
	return data[1:]
}
