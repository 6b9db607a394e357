package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/client"
	typed "github.com/capstan-dev/capstan/gen/client"
	meta "github.com/capstan-dev/capstan/gen/meta/v1"
	rbac "github.com/capstan-dev/capstan/gen/rbac.authorization/v1"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/servertest"
)

const users = "bob-token,bob,1\ncarol-token,carol,2\n"

// cluster is an API server that knows bob and carol by their tokens, of whom bob may read the
// metrics of the node n.
type cluster struct {
	*servertest.Server
	bindings           *client.Resource[*rbac.ClusterRoleBinding]
	tokens, kubeconfig string // files
}

func startCluster(t *testing.T) *cluster {
	t.Helper()
	dir := t.TempDir()
	c := &cluster{tokens: filepath.Join(dir, "tokens"), kubeconfig: filepath.Join(dir, "kubeconfig")}
	write(t, c.tokens, users)
	c.Server = servertest.Start(t, func(config *server.Config) { config.TokenAuthFile = c.tokens })
	write(t, c.kubeconfig, string(c.Kubeconfig()))
	kinds, err := typed.New(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	c.bindings = kinds.RbacAuthorizationV1().ClusterRoleBindings()
	role := &rbac.ClusterRole{Metadata: meta.ObjectMeta{Name: "reader"},
		Rules: []rbac.PolicyRule{{APIGroups: []string{""}, Resources: []string{"nodes/metrics"}, ResourceNames: []string{"n"}, Verbs: []string{"get"}}}}
	if _, err := kinds.RbacAuthorizationV1().ClusterRoles().Create(context.Background(), role, client.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.give(t)
	return c
}

// give lets bob read the metrics, and take ends that.
func (c *cluster) give(t *testing.T) {
	t.Helper()
	binding := &rbac.ClusterRoleBinding{Metadata: meta.ObjectMeta{Name: "readers"}, Subjects: []rbac.Subject{{Kind: "User", Name: "bob"}},
		RoleRef: rbac.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "reader"}}
	if _, err := c.bindings.Create(context.Background(), binding, client.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (c *cluster) take(t *testing.T) {
	t.Helper()
	if err := c.bindings.Delete(context.Background(), "readers", client.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// agent is a running program.
type agent struct {
	t     *testing.T
	url   string
	later atomic.Int64 // how much later it is for the program, in nanoseconds
}

// start runs the program with flags, for the node n, until the end of the test.
func start(t *testing.T, flags ...string) *agent {
	t.Helper()
	cert, key := newAuthority(t, "serving").files(t, "127.0.0.1")
	flags = append(flags, "--hostname-override=n", "--listen=127.0.0.1:0", "--tls-cert-file="+cert, "--tls-private-key-file="+key)
	a := &agent{t: t}
	said, out := io.Pipe()
	p := program{out: out, log: slog.New(slog.DiscardHandler), clock: func() time.Time { return time.Now().Add(time.Duration(a.later.Load())) }}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		err := p.run(ctx, flags)
		_ = out.CloseWithError(err)
		ended <- err
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the program: %v", err)
		}
	})
	if _, err := fmt.Fscanf(said, "node n listens on %s\n", &a.url); err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *agent) wait(d time.Duration) { a.later.Add(int64(d)) }

// expect sends a request and compares the status of the answer.
func (a *agent) expect(what, path, token string, cert *tls.Certificate, want int) {
	a.t.Helper()
	config := &tls.Config{InsecureSkipVerify: true}
	if cert != nil {
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return cert, nil }
	}
	req, err := http.NewRequest(http.MethodGet, a.url+path, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	transport := &http.Transport{TLSClientConfig: config}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != want {
		body, _ := io.ReadAll(resp.Body)
		a.t.Errorf("%s: %d %s, want %d", what, resp.StatusCode, strings.TrimSpace(string(body)), want)
	}
}

// TestLogins: the users that each command line lets in, and their rights.
func TestLogins(t *testing.T) {
	c, own, strange := startCluster(t), newAuthority(t, "own"), newAuthority(t, "strange")
	ca := filepath.Join(t.TempDir(), "ca.pem")
	write(t, ca, own.pem())
	server, authorities := "--kubeconfig="+c.kubeconfig, "--client-ca-file="+ca
	bob, unknown := own.client(t, "bob"), strange.client(t, "bob")
	type answers struct{ anonymous, bob, bobElsewhere, carol, wrong, certificate, strange int }
	for _, run := range []struct {
		flags []string
		want  answers
	}{
		{nil, answers{200, 401, 401, 401, 401, 401, 401}},
		{[]string{"--anonymous-auth=false"}, answers{401, 401, 401, 401, 401, 401, 401}},
		{[]string{authorities, "--anonymous-auth=false"}, answers{401, 401, 401, 401, 401, 200, 401}},
		{[]string{server}, answers{403, 200, 403, 403, 401, 401, 401}},
		{[]string{server, authorities}, answers{403, 200, 403, 403, 401, 200, 401}},
		{[]string{server, authorities, "--anonymous-auth=false", "--authentication-token-webhook", "--authorization-mode=Webhook"},
			answers{401, 200, 403, 403, 401, 200, 401}},
		{[]string{server, "--anonymous-auth=false", "--authorization-mode=AlwaysAllow"}, answers{401, 200, 200, 200, 401, 401, 401}},
		{[]string{server, authorities, "--authentication-token-webhook=false"}, answers{403, 401, 401, 401, 401, 200, 401}},
	} {
		t.Run(strings.Join(run.flags, " "), func(t *testing.T) {
			a := start(t, run.flags...)
			a.expect("anonymous", "/metrics", "", nil, run.want.anonymous)
			a.expect("bob", "/metrics", "bob-token", nil, run.want.bob)
			a.expect("bob elsewhere", "/healthz", "bob-token", nil, run.want.bobElsewhere)
			a.expect("carol", "/metrics", "carol-token", nil, run.want.carol)
			a.expect("a wrong token", "/metrics", "wrong", nil, run.want.wrong)
			a.expect("bob's certificate", "/metrics", "", bob, run.want.certificate)
			a.expect("a strange certificate", "/metrics", "", unknown, run.want.strange)
		})
	}
}

// ttls are the flags for the times of answers.
func ttls(token, allowed, others string) []string {
	return []string{"--authentication-token-webhook-cache-ttl=" + token, "--authorization-webhook-cache-authorized-ttl=" + allowed,
		"--authorization-webhook-cache-unauthorized-ttl=" + others}
}

// TestAnswersCount: answers of the API server count for the times of the flags.
func TestAnswersCount(t *testing.T) {
	c := startCluster(t)
	for name, times := range map[string]struct {
		flags                  []string
		token, allowed, others time.Duration
	}{
		"default": {nil, 2 * time.Minute, 5 * time.Minute, 30 * time.Second},
		"flags":   {ttls("7m", "1m", "3m"), 7 * time.Minute, time.Minute, 3 * time.Minute},
		"zero":    {ttls("0", "0s", "0"), 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			a := start(t, append(times.flags, "--kubeconfig="+c.kubeconfig)...)
			// lasts checks that an answer counts for a time, and another one afterwards.
			lasts := func(what string, life time.Duration, before, after int) {
				t.Helper()
				if life > 0 {
					a.wait(life - 10*time.Second) // the test itself takes a moment
					a.expect(what+", before", "/metrics", "bob-token", nil, before)
					a.wait(10 * time.Second)
				}
				a.expect(what+", after", "/metrics", "bob-token", nil, after)
			}
			a.expect("a right", "/metrics", "bob-token", nil, 200)
			c.take(t)
			lasts("a right that is taken away", times.allowed, 200, 403)
			c.give(t)
			lasts("a right that is given", times.others, 403, 200)

			a.wait(time.Hour)
			a.expect("a token", "/metrics", "bob-token", nil, 200)
			write(t, c.tokens, "carol-token,carol,2\n")
			c.Reload()
			lasts("a token that is taken away", times.token, 200, 401)
			write(t, c.tokens, users)
			c.Reload()
			lasts("a token that is given", times.token, 401, 200)
		})
	}
}

// TestAuthoritiesChange: the file of authorities may change while the program runs. A wrong
// one changes nothing.
func TestAuthoritiesChange(t *testing.T) {
	old, next := newAuthority(t, "old"), newAuthority(t, "next")
	ca := filepath.Join(t.TempDir(), "ca.pem")
	write(t, ca, old.pem())
	a := start(t, "--client-ca-file="+ca, "--anonymous-auth=false")
	expect := func(what string, forOld, forNext int) {
		t.Helper()
		a.expect(what+": old", "/healthz", "", old.client(t, "bob"), forOld)
		a.expect(what+": next", "/healthz", "", next.client(t, "bob"), forNext)
	}
	expect("at first", 200, 401)
	write(t, ca, next.pem())
	a.wait(10 * time.Second)
	expect("changed", 401, 200)
	for what, text := range map[string]string{"empty": "", "cut off": old.pem()[:200], "cut off later": next.pem() + old.pem()[:200]} {
		write(t, ca, text)
		a.wait(10 * time.Second)
		expect(what, 401, 200)
	}
	write(t, ca, next.pem()+old.pem())
	a.wait(10 * time.Second)
	expect("both", 200, 200)
}

// TestMistakes: the program does not run with wrong flags.
func TestMistakes(t *testing.T) {
	for line, want := range map[string]string{
		"extra":                          `unexpected argument "extra": there are flags only`,
		"--authentication-token-webhook": "--authentication-token-webhook: there is no API server that reviews tokens; add --kubeconfig",
		"--client-ca-file=missing":       "--client-ca-file: open missing: no such file or directory",
		"--tls-cert-file=missing":        "--tls-cert-file, --tls-private-key-file: open missing: no such file or directory",
	} {
		p := program{out: io.Discard, log: slog.New(slog.DiscardHandler), clock: time.Now}
		if err := p.run(context.Background(), strings.Fields(line)); err == nil || err.Error() != want {
			t.Errorf("%s: %v\nwant %s", line, err, want)
		}
	}
}
