package serve_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestCredentialHeaders: headers that parsers read in different ways give nobody a name.
func TestCredentialHeaders(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) {
		c.RequestHeaderClientCAFile = harness.File(t, harness.Certificates(t).OwnCA)
		c.RequestHeaderUsernameHeaders, c.RequestHeaderGroupHeaders = []string{"X-Remote-User"}, []string{"X-Remote-Group"}
	})
	trust := x509.NewCertPool()
	trust.AppendCertsFromPEM(h.Running.CA())
	address := strings.TrimPrefix(h.Running.URL(), "https://")
	const admin, bob, asAdmin = "Authorization: Bearer " + harness.AdminToken, "Authorization: Bearer bob-token", "X-Remote-User: admin\r\nX-Remote-Group: system:masters"
	const unknown, anonymous, isBob = "401", `403 User "system:anonymous"`, `403 User "bob"`
	for _, c := range []struct{ name, headers, want string }{
		{"space before the colon", "Authorization : Bearer " + harness.AdminToken, "400"},
		{"tab before the colon", "Authorization\t: Bearer " + harness.AdminToken, "400"},
		{"the user of a proxy with a space", "X-Remote-User : admin", "400"},
		{"in a folded line", "X-Other: x\r\n " + admin, anonymous},
		{"two, the first wrong", "Authorization: Bearer wrong\r\n" + admin, unknown},
		{"two, the first of bob", bob + "\r\n" + admin, isBob},
		{"two, the first empty", "Authorization:\r\n" + admin, anonymous},
		{"two in one", bob + ", Bearer " + harness.AdminToken, unknown},
		{"a stranger as a proxy", asAdmin, anonymous},
		{"bob as a proxy", asAdmin + "\r\n" + bob, isBob},
		{"another scheme", "Authorization: Basic " + harness.AdminToken, anonymous},
		{"a header of another name", "X-Authorization: Bearer " + harness.AdminToken, anonymous},
	} {
		conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: trust})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n%s\r\n\r\n", harness.ConfigMaps, address, c.headers)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		body, _ := io.ReadAll(resp.Body)
		conn.Close()
		code, user, _ := strings.Cut(c.want, " ")
		if fmt.Sprint(resp.StatusCode) != code || !strings.Contains(strings.ReplaceAll(string(body), `\`, ""), user) {
			t.Errorf("%s: %d %s, want %s", c.name, resp.StatusCode, body, c.want)
		}
	}
}
