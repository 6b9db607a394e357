package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/tools/storm/area"
	"github.com/capstan-dev/capstan/tools/storm/clock"
	"github.com/capstan-dev/capstan/tools/storm/promise"
	"github.com/capstan-dev/capstan/tools/storm/site"
)

// leeway is the difference between clocks that the times of a token may have, as in kube-apiserver.
const leeway = time.Minute

// TestClocksApart: servers whose clocks are apart share an etcd. What they write has the time of their
// clocks, is seen by all of them at once, and tokens count from their begin to their end by the clock of
// the server that is asked, with a minute's leeway. A storm keeps all promises.
func TestClocksApart(t *testing.T) {
	if os.Getenv("CAPSTAN_STRESS") == "" {
		t.Skip("builds the standard library with another clock; CAPSTAN_STRESS=1 runs it")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	server, err := clock.Build(t.Context(), root, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	etcd := filepath.Join(t.TempDir(), "etcd")
	build(t, filepath.Join("..", "etcd"), etcd, ".")
	for _, apart := range []time.Duration{10 * time.Second, 10 * time.Minute} {
		t.Run(apart.String(), func(t *testing.T) {
			o := site.Options{Binary: server, Dir: t.TempDir(), History: area.History(nil), Etcd: etcd, Servers: 3, Apart: apart}
			s, err := site.Start(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Kill()
			written(t, s, apart)
			tokens(t, s, apart)
			s.Kill()
			p := area.Draw(1, area.Size{Clients: 8, Steps: 60}, []string{"maps", "namespaces", "owners", "rights", "services", "quotas", "faults"}, true)
			o.Dir, o.History = t.TempDir(), area.History(p.Areas)
			r, err := storm(t.Context(), p, o)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range promise.Check(r) {
				t.Error(v)
			}
		})
	}
}

// written has each server write an object, which all others show with its time.
func written(t *testing.T, s *site.Site, apart time.Duration) {
	t.Helper()
	const path = "/api/v1/namespaces/default/configmaps"
	for i, by := range s.URLs() {
		var made struct {
			Metadata struct{ CreationTimestamp time.Time }
		}
		name := fmt.Sprint("c", i)
		if code := send(t, by+path, site.AdminToken, fmt.Sprintf(`{"metadata":{"name":%q}}`, name), &made); code != http.StatusCreated {
			t.Fatalf("a create is answered %d", code)
		}
		if off := time.Until(made.Metadata.CreationTimestamp.Add(-clock.Of(i, apart))); off.Abs() > 5*time.Second {
			t.Errorf("server %d: an object is made %s from the time of its clock", i, off)
		}
		for j, other := range s.URLs() {
			read := made
			if code := send(t, other+path+"/"+name, site.AdminToken, "", &read); code != http.StatusOK || !read.Metadata.CreationTimestamp.Equal(made.Metadata.CreationTimestamp) {
				t.Errorf("server %d reads what server %d has made: %d, %v, want %v", j, i, code, read, made)
			}
		}
	}
}

// tokens has each server issue a token, which counts on a server whose clock is within its times.
func tokens(t *testing.T, s *site.Site, apart time.Duration) {
	t.Helper()
	const life = 10 * time.Minute
	for i, by := range s.URLs() {
		var issued struct{ Status struct{ Token string } }
		body := fmt.Sprintf(`{"kind":"TokenRequest","apiVersion":"authentication.k8s.io/v1","spec":{"expirationSeconds":%d}}`, life/time.Second)
		if code := send(t, by+"/api/v1/namespaces/default/serviceaccounts/default/token", site.AdminToken, body, &issued); code != http.StatusCreated {
			t.Fatalf("a request for a token is answered %d", code)
		}
		for j, other := range s.URLs() {
			want, age := http.StatusForbidden, clock.Of(j, apart)-clock.Of(i, apart)
			if age < -leeway || age > life+leeway {
				want = http.StatusUnauthorized
			}
			if code := send(t, other+"/api/v1/namespaces/default/secrets", issued.Status.Token, "", nil); code != want {
				t.Errorf("the token of server %d, whose clock is %s behind that of server %d, is answered %d there, want %d", i, age, j, code, want)
			}
		}
	}
}

// send sends a GET, or a POST with a body, and reads the answer.
func send(t *testing.T, url, token, body string, answer any) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	transport := site.Transport(false)
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && answer != nil {
		err = json.Unmarshal(text, answer)
	}
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode
}
