package authn

import (
	"crypto/x509"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFrontProxy(t *testing.T) {
	var self *issuer
	root := self.issue(t, authority("proxies", 24*time.Hour))
	other := self.issue(t, authority("other", 24*time.Hour))
	serving := template("proxy", nil, time.Hour)
	serving.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	proxy := root.issue(t, template("proxy", []string{"ignored"}, time.Hour))
	roots := x509.NewCertPool()
	roots.AddCert(root.cert)
	headers := ProxyHeaders{AllowedNames: []string{"proxy"}, User: []string{"X-Remote-User", "X-User"}, Group: []string{"X-Remote-Group"}, Extra: []string{"X-Remote-Extra-"}}
	open := headers
	open.AllowedNames = nil
	for _, c := range []struct {
		name    string
		by      *issuer
		open    bool   // any proxy is allowed
		headers string // "name: value" lines
		want    *User
		err     string
	}{
		{"all", proxy, false, "X-Remote-User: ann\nx-remote-group: a\nX-Remote-Group: b\nX-Remote-Group: \nX-Remote-Extra-Example.com%2fScope: one\nx-remote-extra-example.com%2fscope: two",
			&User{Name: "ann", Groups: []string{"a", "b", GroupAuthenticated}, Extra: map[string][]string{"example.com/scope": {"one", "two"}}}, ""},
		{"the second header", proxy, false, "X-Remote-User: \nX-User: bob", &User{Name: "bob", Groups: []string{GroupAuthenticated}}, ""},
		{"a key that is not encoded well", proxy, false, "X-Remote-User: ann\nX-Remote-Extra-50%: x", &User{Name: "ann", Groups: []string{GroupAuthenticated}, Extra: map[string][]string{"50%": {"x"}}}, ""},
		{"nobody", proxy, false, "X-Remote-Group: system:masters", nil, ""},
		{"a stranger without certificate", nil, false, "X-Remote-User: ann", nil, ""},
		{"a stranger's certificate", other.issue(t, template("proxy", nil, time.Hour)), false, "X-Remote-User: ann", nil, "unknown authority"},
		{"expired", root.issue(t, template("proxy", nil, -time.Minute)), false, "X-Remote-User: ann", nil, "expired"},
		{"for servers", root.issue(t, serving), false, "X-Remote-User: ann", nil, "incompatible key usage"},
		{"another name", root.issue(t, template("kubelet", nil, time.Hour)), false, "X-Remote-User: ann", nil, "not among the allowed names"},
		{"no name", root.issue(t, template("", nil, time.Hour)), false, "X-Remote-User: ann", nil, "not among the allowed names"},
		{"any name", root.issue(t, template("kubelet", nil, time.Hour)), true, "X-Remote-User: ann", &User{Name: "ann", Groups: []string{GroupAuthenticated}}, ""},
		{"anonymous", proxy, false, "X-Remote-User: " + UserAnonymous, &User{Name: UserAnonymous}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := withCerts()
			if c.by != nil {
				r = withCerts(c.by)
			}
			for line := range strings.SplitSeq(c.headers, "\n") {
				name, value, _ := strings.Cut(line, ": ")
				r.Header.Add(name, value)
			}
			h := headers
			if c.open {
				h = open
			}
			got, err := NewFrontProxy(roots, h, func() time.Time { return noon }).Authenticate(r)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("%v, %v; want %s", got, err, c.err)
				}
				return
			}
			var user *User
			if got != nil {
				user = got.User
			}
			if err != nil || !cmp.Equal(user, c.want) {
				t.Errorf("%v\n%s", err, cmp.Diff(c.want, user))
			}
		})
	}
}

func TestProxyHeadersRemove(t *testing.T) {
	h := http.Header{}
	for _, name := range []string{"X-Remote-User", "x-remote-group", "X-Remote-Extra-A%2fb", "X_Remote_User", "X_remote-Extra_b", "X-Remote", "Accept"} {
		h.Add(name, "x")
	}
	h["x-remote-extra-raw"] = []string{"x"}
	headers := ProxyHeaders{User: []string{"x-remote-user"}, Group: []string{"X-Remote-Group"}, Extra: []string{"X-REMOTE-EXTRA-"}}
	headers.Remove(h)
	if len(h) != 2 || h.Get("Accept") == "" || h.Get("X-Remote") == "" {
		t.Errorf("left: %v", h)
	}
}
