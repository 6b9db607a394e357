package move

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
	"github.com/capstan-dev/capstan/server/internal/operate"
)

// TestImportFromServerRefuses: each mistake is one line that names it.
func TestImportFromServerRefuses(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { c.AuthorizationModes = []string{"RBAC"} })
	dir, flags := access(t, h)
	from := "--from-server=" + h.Running.URL()
	answering := func(path, body string) string {
		return "--from-server=" + front(t, h, func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != path {
				return false
			}
			fmt.Fprint(w, body)
			return true
		})
	}
	nobody, bob := "--token-file="+harness.File(t, []byte("nobody")), "--token-file="+harness.File(t, []byte("bob-token"))
	other, _ := harness.NewAuthority(t)
	large := strings.Repeat("x", 17<<20)
	for name, c := range map[string]struct {
		flags []string
		want  string
	}{
		"no server":     {[]string{"--from-server=https://127.0.0.1:1"}, "https://127.0.0.1:1 does not answer: "},
		"no URL":        {[]string{"--from-server=nowhere"}, `host "nowhere": want a URL like https://127.0.0.1:6443`},
		"no API":        {[]string{answering("/api", "<html>")}, "/api is not what an API server answers: give the URL of an API server"},
		"no list":       {[]string{answering("/api/v1/pods", `{"kind":"Pod"}`)}, "/api/v1/pods: the answer is no list of objects"},
		"untrusted":     {[]string{from, "--certificate-authority=" + other}, " is not trusted: "},
		"no authority":  {[]string{from, "--certificate-authority=/nowhere"}, "--certificate-authority: open /nowhere: "},
		"unknown user":  {[]string{from, nobody}, "/api: the source does not know the client (401): "},
		"no rights":     {[]string{from, bob}, "apiservices: the client may not read that (403): "},
		"no token":      {[]string{from, "--token-file=/nowhere"}, "open /nowhere: "},
		"two sources":   {[]string{from, "--from-etcd=http://127.0.0.1:1"}, "two sources: give --from-etcd, or --from-server or --kubeconfig"},
		"two logins":    {[]string{from, "--kubeconfig=/nowhere"}, "--kubeconfig has the credentials and the authority: leave out --token-file"},
		"half a pair":   {[]string{from, "--client-certificate=" + other}, "a certificate needs its key"},
		"ends":          {[]string{answering("/api/v1/pods", `{"metadata":{},"items":[{"metadata":{"name":"a"`)}, "/api/v1/pods: the source ended in the middle of the answer: "},
		"ends softly":   {[]string{answering("/api/v1/pods", `{"metadata":{},"items":[]`)}, "/api/v1/pods: the source ended in the middle of the answer: "},
		"large":         {[]string{answering("/api/v1/pods", `{"metadata":{},"items":[{"metadata":{"name":"a"},"x":"`+large+`"}]}`)}, "1 values cannot be read; nothing was imported"},
		"very large":    {[]string{answering("/api/v1/pods", `{"metadata":{},"items":[{"metadata":{"name":"a"},"x":"`+large+large+`"}]}`)}, "/api/v1/pods: an object has more than 33554432 bytes; make it smaller"},
		"without names": {[]string{answering("/api/v1/pods", `{"metadata":{},"items":[{"metadata":{}}]}`)}, "1 values cannot be read; nothing was imported"},
	} {
		code, _, stderr := command(append(append([]string{}, flags...), c.flags...)...)
		if code == 0 || !strings.Contains(stderr, c.want) || strings.Contains(stderr, "\n") {
			t.Errorf("%s: %d %s\nexpected %q", name, code, stderr, c.want)
		}
	}
	if _, err := os.Stat(operate.StoreDir(dir)); err == nil {
		t.Error("a refused import made a store")
	}
	succeeds(t, append(flags, from)...)
	if code, _, stderr := command(append(flags, from)...); code == 0 || !strings.Contains(stderr, "is there already; move it away before") {
		t.Errorf("a second import: %d %s", code, stderr)
	}
}

// TestImportByKubeconfig: the server and the credentials are those of a context.
func TestImportByKubeconfig(t *testing.T) {
	h := harness.Start(t, nil)
	ca := harness.File(t, h.Running.CA())
	config := harness.File(t, fmt.Appendf(nil, `{"current-context":"bob","clusters":[{"name":"c","cluster":{"server":%q,"certificate-authority":%q}}],
		"users":[{"name":"admin","user":{"token":%q}},{"name":"bob","user":{"token":"nobody"}}],
		"contexts":[{"name":"bob","context":{"cluster":"c","user":"bob"}},{"name":"admin","context":{"cluster":"c","user":"admin"}}]}`,
		h.Running.URL(), ca, harness.AdminToken))
	if code, _, stderr := command("import", "--kubeconfig="+config, "--data-dir="+t.TempDir()); code == 0 || !strings.Contains(stderr, "(401)") {
		t.Errorf("the current context: %d %s", code, stderr)
	}
	out := succeeds(t, "import", "--kubeconfig="+config, "--context=admin", "--data-dir="+t.TempDir())
	if !strings.Contains(out, "core/namespaces") {
		t.Error(out)
	}
}
