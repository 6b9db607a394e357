package command

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/client"
)

// linked is a client with the token of a login link, and the claims of the token.
func linked(t *testing.T, kubeconfig, link string) (*client.REST, client.Config, linkClaims) {
	t.Helper()
	page, token, ok := strings.Cut(strings.TrimSpace(link), "#link=")
	if !ok || !strings.HasSuffix(page, "/explorer/") {
		t.Fatalf("%q is not a link", link)
	}
	token, err := url.QueryUnescape(token)
	if err != nil {
		t.Fatal(err)
	}
	var claims struct {
		Own linkClaims `json:"kubernetes.io"`
	}
	text, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	if err != nil || json.Unmarshal(text, &claims) != nil {
		t.Fatal(token, err)
	}
	config, _, err := client.LoadKubeconfig(kubeconfig, "")
	if err != nil {
		t.Fatal(err)
	}
	config.TLS.Certificates, config.CertificateFile, config.KeyFile, config.Retries = nil, "", "", -1
	config.BearerToken = token
	return restOf(t, config), config, claims.Own
}

// TestExplorerWithoutAccounts: a server of kinds of its own may have no service accounts. The command says how to log in then.
func TestExplorerWithoutAccounts(t *testing.T) {
	for _, answer := range []string{"", `{"kind":"APIResourceList","resources":[{"name":"namespaces"}]}`} {
		own := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if answer == "" || r.URL.Path != "/api/v1" {
				http.NotFound(w, r)
				return
			}
			_, _ = io.WriteString(w, answer)
		}))
		defer own.Close()
		_, err := explorerLink(t.Context(), client.Config{Host: own.URL}, administrator)
		if err == nil || !strings.HasPrefix(err.Error(), "this server has no service accounts, as which links log in; open "+own.URL+"/explorer/ and log in there with a token") {
			t.Error(err)
		}
	}
}

type linkClaims struct {
	Namespace      string
	ServiceAccount struct{ Name string }
	Secret         struct{ Name, UID string }
}

func restOf(t *testing.T, config client.Config) *client.REST {
	t.Helper()
	rest, err := client.NewREST(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(rest.Close)
	return rest
}

// TestExplorerLink does with a link what the page does: the link's token makes one session, and counts for nothing
// after that; the session ends with its secret.
func TestExplorerLink(t *testing.T) {
	ctx := context.Background()
	data := filepath.Join(t.TempDir(), "data")
	defer serving(t, data)()
	awaitReady(t, data)
	kubeconfig := filepath.Join(data, "admin.kubeconfig")
	code, link, notes := command("explorer", "--data-dir", data)
	if code != 0 || !strings.Contains(notes, "counts once, for 10 minutes; the page acts as the service account kube-system/explorer\n") || strings.Contains(notes, "#link") {
		t.Fatalf("%d, %s, %s", code, link, notes)
	}
	rest, config, claims := linked(t, kubeconfig, link)
	session := strings.Replace(claims.Secret.Name, "explorer-link-", "explorer-session-", 1)
	account := "/api/v1/namespaces/" + claims.Namespace + "/serviceaccounts/" + claims.ServiceAccount.Name + "/token"
	request := fmt.Sprintf(`{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"expirationSeconds":3600,"boundObjectRef":{"apiVersion":"v1","kind":"Secret","name":%q}}}`, session)
	answer, err := rest.Post(ctx, account, []byte(request))
	if err != nil {
		t.Fatal(err)
	}
	var made tokenRequest
	if err := json.Unmarshal(answer, &made); err != nil {
		t.Fatal(err)
	}
	inLink := client.NewResource[*linkObject](rest, secrets, claims.Namespace)
	if err := inLink.Delete(ctx, claims.Secret.Name, client.DeleteOptions{Preconditions: &client.Preconditions{UID: claims.Secret.UID}}); err != nil {
		t.Fatal(err)
	}
	config.BearerToken = made.Status.Token
	mine := restOf(t, config)
	if _, err := mine.Get(ctx, "/api/v1/namespaces", 1<<20); err != nil {
		t.Errorf("the session of an administrator's link: %v", err)
	}
	if _, err := rest.Get(ctx, "/api/v1/namespaces", 1<<20); err == nil || !strings.Contains(err.Error(), "Unauthorized") {
		t.Errorf("a link that was used: %v", err)
	}
	if err := client.NewResource[*linkObject](mine, secrets, claims.Namespace).Delete(ctx, session, client.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := mine.Get(ctx, "/api/v1/namespaces", 1<<20); err == nil || !strings.Contains(err.Error(), "Unauthorized") {
		t.Errorf("after the log-out: %v", err)
	}
	for args, want := range map[string]string{"default": "write NAMESPACE/NAME", "default/nobody": "not found"} {
		if code, out, errs := command("explorer", "--data-dir", data, "--service-account", args); code == 0 || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%s: %d, %s, %s", args, code, out, errs)
		}
	}
}

// TestExplorerLinkOfOthers: a link of another account gives the page that account's rights, and those to begin
// and to end the session.
func TestExplorerLinkOfOthers(t *testing.T) {
	ctx := context.Background()
	data := filepath.Join(t.TempDir(), "data")
	defer serving(t, data)()
	awaitReady(t, data)
	kubeconfig := filepath.Join(data, "admin.kubeconfig")
	newAccount(t, kubeconfig, "viewer")
	code, link, notes := command("explorer", "--data-dir", data, "--service-account", "kube-system/viewer")
	if code != 0 {
		t.Fatal(notes)
	}
	rest, _, claims := linked(t, kubeconfig, link)
	if _, err := rest.Get(ctx, "/api/v1/namespaces/kube-system/configmaps", 1<<20); !client.IsForbidden(err) {
		t.Errorf("an account without rights reads: %v", err)
	}
	if err := client.NewResource[*linkObject](rest, secrets, "kube-system").Delete(ctx, claims.Secret.Name, client.DeleteOptions{}); err != nil {
		t.Errorf("the account cannot use its link: %v", err)
	}
}
