package e2e

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// users are the kubeconfigs of the users of a server.
type users struct {
	t     *testing.T
	of    *instance
	admin *clientcmdapi.Config
}

// kubectl runs kubectl with a kubeconfig, and returns its output and whether it succeeded.
func (u *users) kubectl(kubeconfig string, args ...string) (output string, ok bool) {
	cmd := exec.Command(binaries.kubectl, append([]string{"--kubeconfig", kubeconfig, "--cache-dir", u.t.TempDir()}, args...)...)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err == nil
}

// must is kubectl as the administrator, which has to succeed.
func (u *users) must(args ...string) string {
	u.t.Helper()
	out, ok := u.kubectl(u.of.kubeconfig, args...)
	if !ok {
		u.t.Fatalf("kubectl %s: %s", strings.Join(args, " "), out)
	}
	return out
}

// with writes a kubeconfig of a user for the server.
func (u *users) with(user *clientcmdapi.AuthInfo) string {
	u.t.Helper()
	c := u.admin.DeepCopy()
	for name := range c.AuthInfos {
		c.AuthInfos[name] = user
	}
	path := filepath.Join(u.t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*c, path); err != nil {
		u.t.Fatal(err)
	}
	return path
}

// run runs capstan itself.
func (u *users) run(args ...string) string {
	u.t.Helper()
	out, err := exec.Command(binaries.capstan, args...).Output()
	if err != nil {
		u.t.Fatalf("capstan %s: %v", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out))
}

// TestKubectlUsers: kubectl as every kind of user has the name, the groups and the rights of
// that user, and none with credentials that are not valid.
func TestKubectlUsers(t *testing.T) {
	t.Parallel()
	issuer, dir := startIssuer(t), t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	u := &users{t: t, of: serve(t, dir, "--token-auth-file", write("tokens.csv", "tom-token,tom,t1,\"devs,other\"\n", 0o600),
		"--oidc-issuer-url", issuer.URL, "--oidc-client-id", "kit", "--oidc-ca-file", issuer.file, "--oidc-username-prefix", "oidc:", "--oidc-groups-claim", "groups")}
	u.admin = must[*clientcmdapi.Config](t)(clientcmd.LoadFromFile(u.of.kubeconfig))
	u.must("create", "role", "reader", "--verb=get,list", "--resource=configmaps")
	u.must("create", "rolebinding", "reader", "--role=reader", "--group=devs", "--serviceaccount=default:web")
	u.must("create", "serviceaccount", "web")

	oidc := func(token string) string {
		return u.with(&clientcmdapi.AuthInfo{AuthProvider: &clientcmdapi.AuthProviderConfig{Name: "oidc", Config: map[string]string{"idp-issuer-url": issuer.URL, "client-id": "kit", "id-token": token}}})
	}
	plugin := func(version, token string) string {
		script := write("plugin", fmt.Sprintf("#!/bin/sh\ncase $KUBERNETES_EXEC_INFO in *%[1]s*) ;; *) exit 3;; esac\n"+
			`echo '{"apiVersion":"client.authentication.k8s.io/%[1]s","kind":"ExecCredential","status":{"token":"%[2]s"}}'`, version, token), 0o700)
		return u.with(&clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{APIVersion: "client.authentication.k8s.io/" + version, Command: script, InteractiveMode: clientcmdapi.NeverExecInteractiveMode}})
	}
	bearer := func(token string) string { return u.with(&clientcmdapi.AuthInfo{Token: token}) }
	ann := issuer.token(t, url.Values{"sub": {"ann"}, "groups": {"devs"}})
	certified := filepath.Join(t.TempDir(), "cora.kubeconfig")
	u.run("kubeconfig", "--data-dir", dir, "--user", "cora", "--group", "devs", "--output", certified)
	const account = `system:serviceaccount:default:web ["system:serviceaccounts","system:serviceaccounts:default","system:authenticated"]`
	for name, c := range map[string]struct{ kubeconfig, is string }{
		"certificate":                {certified, `cora ["devs","system:authenticated"]`},
		"token":                      {bearer("tom-token"), `tom ["devs","other","system:authenticated"]`},
		"ID token":                   {oidc(ann), `oidc:ann ["devs","system:authenticated"]`},
		"ID token as it is":          {bearer(ann), `oidc:ann ["devs","system:authenticated"]`},
		"ID token, groups elsewhere": {oidc(issuer.token(t, url.Values{"sub": {"bob"}})), `oidc:bob ["devs","system:authenticated"]`},
		"plug-in":                    {plugin("v1", ann), `oidc:ann ["devs","system:authenticated"]`},
		"plug-in of v1beta1":         {plugin("v1beta1", "tom-token"), `tom ["devs","other","system:authenticated"]`},
		"service account":            {bearer(u.must("create", "token", "web")), account},
		"service account by capstan": {bearer(u.run("token", "create", "web", "--data-dir", dir)), account},
		"wrong token":                {bearer("tom-tokem"), ""},
		"forged ID token":            {bearer(ann[:len(ann)-8] + "AAAAAAAA"), ""},
		"wrong plug-in":              {plugin("v1", "nobody"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			is, ok := u.kubectl(c.kubeconfig, "auth", "whoami", "-o", "jsonpath={.status.userInfo.username} {.status.userInfo.groups}")
			if c.is == "" {
				if ok || !strings.Contains(is, "Unauthorized") && !strings.Contains(is, "must be logged in") {
					t.Errorf("%s", is)
				}
				return
			}
			if is != c.is {
				t.Errorf("%s, want %s", is, c.is)
			}
			if out, ok := u.kubectl(c.kubeconfig, "get", "configmaps"); !ok {
				t.Errorf("the right of the role: %s", out)
			}
			if out, ok := u.kubectl(c.kubeconfig, "get", "secrets"); ok || !strings.Contains(out, "forbidden") {
				t.Errorf("a right of nobody: %s", out)
			}
			if out, _ := u.kubectl(c.kubeconfig, "auth", "can-i", "list", "configmaps"); out != "yes" {
				t.Errorf("can-i: %s", out)
			}
		})
	}
}
