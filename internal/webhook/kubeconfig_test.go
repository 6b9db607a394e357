package webhook

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestReadKubeconfig(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("ca.crt", "CA")
	write("token", "secret\n")
	config := func(cluster, user string) string {
		return "clusters: [{name: other, cluster: {server: https://other}}, {name: c, cluster: {" + cluster + "}}]\nusers: [{name: u, user: {" + user + "}}]\n" +
			"contexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n"
	}
	got, err := ReadKubeconfig(write("good", config("server: 'https://h:1/review', certificate-authority: ca.crt, tls-server-name: name", "tokenFile: token")))
	if err != nil || got.URL != "https://h:1/review" || string(got.CABundle) != "CA" || got.ServerName != "name" || got.Credentials.Token != "secret\n" || got.Insecure {
		t.Errorf("%+v, %v", got, err)
	}
	logins, err := ReadLogins(write("logins", "users: [{name: hook.shop.svc, user: {token: svc}}, {name: '*.example.com', user: {token: star}}, {name: 'a.example.com:8443', user: {username: u, password: p}}, {name: rest, user: {token: rest}}]\n"+
		"contexts: [{name: x, context: {user: rest}}]\ncurrent-context: x\n"))
	if err != nil {
		t.Fatal(err)
	}
	for want, target := range map[string]Target{
		"svc":  {Service: &Service{Namespace: "shop", Name: "hook"}},
		"rest": {Service: &Service{Namespace: "shop", Name: "hook", Port: 8443}},
		"star": {URL: "https://b.example.com/x"},
		"":     {URL: "https://a.example.com:8443"},
	} {
		if got := logins.Of(target); got == nil || got.Token != want || (want == "") != (got.Username == "u") {
			t.Errorf("%+v: %+v, want %q", target, got, want)
		}
	}
	if got := (*Logins)(nil).Of(Target{URL: "https://x"}); got != nil {
		t.Error(got)
	}
	for want, text := range map[string]string{
		"names no cluster":            "{}",
		"not a client configuration":  "x: [secret",
		"over https":                  config("server: 'http://h'", "token: secret"),
		"no such file":                config("server: 'https://h', certificate-authority: gone.crt", ""),
		"client certificate":          config("server: 'https://h'", "client-certificate-data: c2VjcmV0, client-key-data: c2VjcmV0"),
		"exec: command is missing":    config("server: 'https://h'", "exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never}"),
		"auth-provider is not":        config("server: 'https://h'", "auth-provider: {name: secret}"),
		"token-gone: no such file or": config("server: 'https://h'", "tokenFile: token-gone"),
	} {
		if _, err := ReadKubeconfig(write("wrong", text)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestCredentialsOfPrograms: a program makes the credentials for a webhook, again when they
// are refused, and learns of the server when it asks.
func TestCredentialsOfPrograms(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		valid, _ := os.ReadFile(filepath.Join(dir, "valid"))
		if r.Header.Get("Authorization") != "Bearer "+string(valid) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(s.Close)
	write("plugin", "#!/bin/sh\ncd "+dir+"\necho run >>runs\necho \"$KUBERNETES_EXEC_INFO\" >info\n"+
		`echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"'$(cat valid)'"}}'`, 0o700)
	write("valid", "one", 0o600)
	const program = "exec: {command: ./plugin, apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, provideClusterInfo: true}"
	target, err := ReadKubeconfig(write("config", "clusters: [{name: c, cluster: {server: '"+s.URL+"/x', insecure-skip-tls-verify: true}}]\nusers: [{name: u, user: {"+program+"}}]\n"+
		"contexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n", 0o600))
	if err != nil {
		t.Fatal(err)
	}
	logins, err := ReadLogins(write("logins", "users: [{name: '*', user: {"+program+"}}]", 0o600))
	if err != nil {
		t.Fatal(err)
	}
	byLogin := Target{URL: s.URL, Insecure: true}
	byLogin.Credentials = logins.Of(byLogin)
	runs := 0
	for name, target := range map[string]Target{"kubeconfig": target, "logins": byLogin} {
		c, err := New(target, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, step := range []struct {
			valid string
			ok    bool
			runs  int
		}{{"one", true, 1}, {"one", true, 0}, {"two", false, 0}, {"two", true, 1}} {
			write("valid", step.valid, 0o600)
			_, err := c.Call(t.Context(), Call{Body: []byte("{}"), Timeout: 10 * time.Second})
			text, _ := os.ReadFile(filepath.Join(dir, "runs"))
			if runs += step.runs; (err == nil) != step.ok || strings.Count(string(text), "run") != runs {
				t.Errorf("%s, call %d: %v, after %q, want %d", name, i, err, text, runs)
			}
		}
		info, _ := os.ReadFile(filepath.Join(dir, "info"))
		if strings.Contains(string(info), `"server":"`+s.URL) != (name == "kubeconfig") {
			t.Errorf("%s: the program got %s", name, info)
		}
		c.Close()
	}
}
