package webhook

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
		"token-gone: no such file or": config("server: 'https://h'", "tokenFile: token-gone"),
	} {
		if _, err := ReadKubeconfig(write("wrong", text)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
