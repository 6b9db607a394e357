package background_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

const (
	tokenSecrets = "/api/v1/namespaces/kube-system/secrets"
	publicMaps   = "/api/v1/namespaces/kube-public/configmaps"
)

// bootstrapSecret is the secret of a bootstrap token for signing; more are further entries
// of its data, name and value.
func bootstrapSecret(id, secret string, more ...string) string {
	entries := append([]string{"token-id", id, "token-secret", secret, "usage-bootstrap-signing", "true"}, more...)
	var data []string
	for i := 0; i < len(entries); i += 2 {
		data = append(data, `"`+entries[i]+`":"`+base64.StdEncoding.EncodeToString([]byte(entries[i+1]))+`"`)
	}
	return `{"metadata":{"name":"bootstrap-token-` + id + `"},"type":"bootstrap.kubernetes.io/token","data":{` + strings.Join(data, ",") + `}}`
}

// verifies reports whether a signature without content is that of a token, by another
// library.
func verifies(t *testing.T, signature, content, id, secret string) bool {
	t.Helper()
	parsed, err := jose.ParseDetached(signature, []byte(content), []jose.SignatureAlgorithm{jose.HS256})
	if err != nil {
		t.Error(err)
		return false
	}
	// The library takes keys of 32 bytes; HMAC itself fills up shorter ones with zeros.
	_, err = parsed.Verify(append([]byte(secret), make([]byte, 16)...))
	return err == nil && parsed.Signatures[0].Header.KeyID == id
}

// Each token signs the information about the cluster.
func TestClusterInfoIsSigned(t *testing.T) {
	h := harness.WithControllers(t, "bootstrapsigner")
	const one, two = "0123456789abcdef", "fedcba9876543210"
	over := time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)
	for _, secret := range []string{bootstrapSecret("aaaaaa", one), bootstrapSecret("bbbbbb", two), bootstrapSecret("cccccc", two, "expiration", over),
		bootstrapSecret("dddddd", two, "usage-bootstrap-signing", "false")} {
		h.Post(tokenSecrets, secret).Expect(t, 201, "")
	}
	h.Post(publicMaps, `{"metadata":{"name":"cluster-info"},"data":{"kubeconfig":"first","jws-kubeconfig-zzzzzz":"old","other":"x"}}`).Expect(t, 201, "")
	signed := func(content string, ids ...string) {
		t.Helper()
		all := h.Await(publicMaps, func(o harness.Contents) bool {
			data, _ := o.In("cluster-info", "data").(map[string]any)
			for _, id := range ids {
				secret := map[string]string{"aaaaaa": one, "bbbbbb": two}[id]
				if signature, _ := data["jws-kubeconfig-"+id].(string); signature == "" || !verifies(t, signature, content, id, secret) {
					return false
				}
			}
			return len(data) == 2+len(ids)
		})
		if all.In("cluster-info", "data.other") != "x" {
			t.Error("another entry is gone")
		}
	}
	signed("first", "aaaaaa", "bbbbbb")
	h.MergePatch(publicMaps+"/cluster-info", `{"data":{"kubeconfig":"second"}}`)
	signed("second", "aaaaaa", "bbbbbb")
	h.Remove(tokenSecrets+"/bootstrap-token-aaaaaa", "").Expect(t, 200, "")
	signed("second", "bbbbbb")
	signature := h.Get(publicMaps+"/cluster-info").Field(t, "data.jws-kubeconfig-bbbbbb").(string)
	if verifies(t, signature, "third", "bbbbbb", two) || verifies(t, signature, "second", "bbbbbb", one) {
		t.Error("a signature of something else verifies")
	}
}

// TestEndedTokensSignNothing: the signature of a token goes when the token ends, and no
// cleaner deletes it.
func TestEndedTokensSignNothing(t *testing.T) {
	h := harness.WithControllers(t, "bootstrapsigner")
	h.Post(tokenSecrets, bootstrapSecret("aaaaaa", "0123456789abcdef")).Expect(t, 201, "")
	h.Post(tokenSecrets, bootstrapSecret("bbbbbb", "fedcba9876543210")).Expect(t, 201, "")
	h.Post(publicMaps, `{"metadata":{"name":"cluster-info"},"data":{"kubeconfig":"first"}}`).Expect(t, 201, "")
	signed := func(ids ...string) {
		t.Helper()
		h.Await(publicMaps, func(o harness.Contents) bool {
			data, _ := o.In("cluster-info", "data").(map[string]any)
			return len(data) == 1+len(ids) && !slices.ContainsFunc(ids, func(id string) bool { return data["jws-kubeconfig-"+id] == nil })
		})
	}
	signed("aaaaaa", "bbbbbb")
	end := base64.StdEncoding.EncodeToString([]byte(time.Now().Add(2 * time.Second).UTC().Format(time.RFC3339)))
	h.MergePatch(tokenSecrets+"/bootstrap-token-aaaaaa", `{"data":{"expiration":"`+end+`"}}`)
	signed("bbbbbb")
	h.Get(tokenSecrets+"/bootstrap-token-aaaaaa").Expect(t, 200, "")
}

// TestUsualControllersLeaveTokensAlone: bootstrap tokens sign and are deleted only where
// somebody asks for that.
func TestUsualControllersLeaveTokensAlone(t *testing.T) {
	for _, c := range []struct {
		selection []string
		on        bool
	}{{[]string{"*"}, false}, {[]string{"*", "bootstrapsigner", "tokencleaner"}, true}} {
		h := harness.Start(t, func(cfg *server.Config) { cfg.Controllers, cfg.DisableAdmissionPlugins = c.selection, nil })
		over := time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)
		h.Post(tokenSecrets, bootstrapSecret("aaaaaa", "0123456789abcdef", "expiration", over)).Expect(t, 201, "")
		h.Post(tokenSecrets, bootstrapSecret("bbbbbb", "0123456789abcdef")).Expect(t, 201, "")
		h.Post(publicMaps, `{"metadata":{"name":"cluster-info"},"data":{"kubeconfig":"first"}}`).Expect(t, 201, "")
		if c.on {
			h.AwaitGone(tokenSecrets, "bootstrap-token-aaaaaa")
			h.Await(publicMaps, func(o harness.Contents) bool { return o.In("cluster-info", "data.jws-kubeconfig-bbbbbb") != nil })
			continue
		}
		// The controllers see changes in their order: once the garbage collector has seen the
		// last, the others would have seen those before.
		h.Post("/api/v1/namespaces/kube-public/configmaps", `{"metadata":{"name":"orphan","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"none","uid":"none"}]}}`).Expect(t, 201, "")
		h.AwaitGone(publicMaps, "orphan")
		h.Get(tokenSecrets+"/bootstrap-token-aaaaaa").Expect(t, 200, "")
		if data := h.Get(publicMaps+"/cluster-info").Field(t, "data").(map[string]any); len(data) != 1 {
			t.Errorf("signed: %v", data)
		}
	}
}

// Bootstrap tokens are deleted when their time is over.
func TestBootstrapTokensAreCleaned(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { c.Controllers = []string{"tokencleaner"} })
	at := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339) }
	for id, end := range map[string]string{"aaaaaa": at(-time.Minute), "bbbbbb": at(time.Hour), "cccccc": "", "dddddd": at(2 * time.Second)} {
		h.Post(tokenSecrets, bootstrapSecret(id, "0123456789abcdef", "expiration", end)).Expect(t, 201, "")
	}
	h.Post(tokenSecrets, strings.Replace(bootstrapSecret("eeeeee", "0123456789abcdef", "expiration", at(-time.Minute)), "bootstrap.kubernetes.io/token", "Opaque", 1)).Expect(t, 201, "")
	h.AwaitGone(tokenSecrets, "bootstrap-token-aaaaaa", "bootstrap-token-dddddd")
	for _, id := range []string{"bbbbbb", "cccccc", "eeeeee"} {
		h.Get(tokenSecrets+"/bootstrap-token-"+id).Expect(t, 200, "")
	}
}
