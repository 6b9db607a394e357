package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/authn"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/measured"
	"github.com/capstan-dev/capstan/server/internal/objects"
)

// startForRights starts a server with 1,000 roles and 10,000 bindings, 50 of them of the
// user ann.
func startForRights(b *testing.B) *Server {
	tokens := filepath.Join(b.TempDir(), "tokens.csv")
	if err := os.WriteFile(tokens, []byte("ann,ann,1\nadmin,admin,2,system:masters\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	s, err := Start(context.Background(), Config{InMemory: true, PKI: PKI{TokenAuthFile: tokens}, Background: Background{Controllers: []string{"-*"}}, Admission: Admission{DisableAdmissionPlugins: []string{"ServiceAccount"}}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Shutdown(context.Background()) })
	<-s.Bootstrapped()
	put := func(plural, namespace, text string) {
		row := s.catalog.Snapshot().Stored("rbac.authorization.k8s.io", plural)
		doc, err := s.objects.DecodeOwn(row, []byte(text))
		if err != nil {
			b.Fatal(err)
		}
		w := objects.Write{Ref: objects.Ref{Row: row, Namespace: namespace}, Creates: true, Change: objects.NewObject(doc, nil)}
		if _, err := s.objects.Write(context.Background(), &w); err != nil {
			b.Fatal(err)
		}
	}
	for i := range 1000 {
		put("clusterroles", "", fmt.Sprintf(`{"metadata":{"name":"r%[1]d"},"rules":[{"verbs":["get","list","watch"],"apiGroups":["apps"],"resources":["deployments","k%[1]d"]},
			{"verbs":["create","get"],"apiGroups":[""],"resources":["configmaps","secrets"]},{"verbs":["get"],"apiGroups":[""],"resources":["r%[1]d"]}]}`, i))
	}
	for i := range 10_000 {
		user := fmt.Sprintf("u%d", i%200)
		if i%200 == 7 {
			user = "ann"
		}
		put("rolebindings", "default", fmt.Sprintf(`{"metadata":{"name":"b%d","namespace":"default"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"r%d"},
			"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":%q}]}`, i, i%1000, user))
	}
	return s
}

// BenchmarkRights measures, in CPU, how much more a request of a user with 50 bindings costs
// than one of an administrator, whose rights are not looked up. Both take turns, so that the
// machine's speed counts for both, and the turns in the middle are compared.
func BenchmarkRights(b *testing.B) {
	s := startForRights(b)
	const path = "/api/v1/namespaces/default/configmaps"
	made := 0
	send := func(token, method string) {
		at, body := path+"/c1", io.Reader(http.NoBody)
		if method == http.MethodPost {
			made++
			at, body = path, bytes.NewReader(fmt.Appendf(nil, `{"metadata":{"name":"c%d"},"data":{"a":"b"}}`, made))
		}
		r := httptest.NewRequest(method, at, body)
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		if s.http.Handler.ServeHTTP(w, r); w.Code >= 300 {
			b.Fatalf("%s: %d %s", token, w.Code, w.Body)
		}
	}
	send("admin", http.MethodPost)
	const turn = 100 // requests
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		b.Run(strings.ToLower(method), func(b *testing.B) {
			used := map[string][]time.Duration{}
			for b.Loop() {
				for _, token := range []string{"admin", "ann", "ann", "admin"} {
					before := measured.CPU()
					for range turn {
						send(token, method)
					}
					used[token] = append(used[token], measured.CPU()-before)
				}
			}
			of := func(token string) float64 { // the turn in the middle
				slices.Sort(used[token])
				return float64(used[token][len(used[token])/2].Nanoseconds()) / turn / 1000
			}
			b.ReportMetric(of("admin"), "us-admin")
			b.ReportMetric(of("ann"), "us-user")
			b.ReportMetric(of("ann")-of("admin"), "us-more")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkLogin measures, in CPU, the login by a token of a service account that is bound to
// a pod: one that was seen before, and new ones.
func BenchmarkLogin(b *testing.B) {
	s := startForRights(b)
	create := func(plural, text string) authn.Reference {
		row := s.catalog.Snapshot().Core(plural)
		doc, err := s.objects.DecodeOwn(row, []byte(text))
		if err != nil {
			b.Fatal(err)
		}
		w := objects.Write{Ref: objects.Ref{Row: row, Namespace: "default"}, Creates: true, Change: objects.NewObject(doc, nil)}
		e, err := s.objects.Write(context.Background(), &w)
		if err != nil {
			b.Fatal(err)
		}
		meta, _ := document.Find(e.Body, "metadata")
		of := func(name string) string {
			text, _ := document.Find(meta, name)
			return strings.Trim(string(text), `"`)
		}
		return authn.Reference{Name: of("name"), UID: of("uid")}
	}
	account := create("serviceaccounts", `{"metadata":{"name":"web"}}`)
	pod := create("pods", string(benchPod("p")))
	token := func(more string) string { // also for another server, so that tokens differ
		text, err := s.accounts.requested.Issue(context.Background(), authn.AccountToken{Namespace: "default", Account: account, Pod: &pod, Audiences: append([]string{more}, s.cfg.APIAudiences...),
			From: time.Now(), To: time.Now().Add(time.Hour)})
		if err != nil {
			b.Fatal(err)
		}
		return text
	}
	login := func(token string) {
		if identity, err := s.tokens.AuthenticateToken(context.Background(), token); identity == nil || err != nil {
			b.Fatal(err)
		}
	}
	b.Run("seen", func(b *testing.B) {
		seen, n := token("x"), 0
		login(seen)
		before := measured.CPU()
		for b.Loop() {
			login(seen)
			n++
		}
		b.ReportMetric(float64((measured.CPU()-before).Nanoseconds())/float64(n)/1000, "us-cpu")
	})
	b.Run("new", func(b *testing.B) {
		var used time.Duration
		n := 0
		for b.Loop() {
			var tokens []string
			for i := range 50 {
				tokens = append(tokens, token(fmt.Sprint(n, "-", i)))
			}
			before := measured.CPU()
			for _, text := range tokens {
				login(text)
			}
			used += measured.CPU() - before
			n += len(tokens)
		}
		b.ReportMetric(float64(used.Nanoseconds())/float64(n)/1000, "us-cpu")
		b.ReportMetric(0, "ns/op")
	})
}
