package identity_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// A new node logs in by the token in a secret.
func TestBootstrapTokens(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) { c.EnableBootstrapTokenAuth = true })
	const token = "abcdef.0123456789abcdef"
	secrets := "/api/v1/namespaces/kube-system/secrets"
	good := map[string]string{"token-id": "abcdef", "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true",
		"auth-extra-groups": "system:bootstrappers:worker,system:bootstrappers:a:b", "expiration": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)}
	for _, c := range []struct {
		name, key, value string // a change of the secret
		ok               bool
	}{
		{"as it should be", "", "", true},
		{"without an end", "expiration", "", true},
		{"without more groups", "auth-extra-groups", "", true},
		{"another password", "token-secret", "0123456789abcdee", false},
		{"another name", "token-id", "abcdee", false},
		{"over", "expiration", "2020-01-01T00:00:00Z", false},
		{"an end that is not a time", "expiration", "tomorrow", false},
		{"for signing only", "usage-bootstrap-authentication", "false", false},
		{"a group with rights", "auth-extra-groups", "system:masters", false},
		{"a type of its own", "type", "Opaque", false},
	} {
		var data []string
		kind := "bootstrap.kubernetes.io/token"
		for key, value := range good {
			if key == c.key {
				value = c.value
			}
			if value != "" {
				data = append(data, `"`+key+`":"`+base64.StdEncoding.EncodeToString([]byte(value))+`"`)
			}
		}
		if c.key == "type" {
			kind = c.value
		}
		h.Create(secrets, `{"metadata":{"name":"bootstrap-token-abcdef"},"type":"`+kind+`","data":{`+strings.Join(data, ",")+`}}`)
		got := h.Send("POST", harness.SelfReviews, "application/json", []byte(`{"spec":{"nonResourceAttributes":{"path":"/version","verb":"get"}}}`), "Authorization", "Bearer "+token)
		if c.ok != (got.Code == 201) || !c.ok && got.Code != 401 {
			t.Errorf("%s: %d %s", c.name, got.Code, got.Body)
		}
		review := h.Post(harness.TokenReviews, `{"spec":{"token":"`+token+`"}}`)
		if c.name == "as it should be" && !strings.Contains(string(review.Body), `"user":{"username":"system:bootstrap:abcdef","groups":["system:bootstrappers","system:bootstrappers:a:b","system:bootstrappers:worker","system:authenticated"]}`) {
			t.Errorf("%s: %s", c.name, review.Body)
		}
		if strings.Contains(string(review.Body), "0123456789abcde") && !strings.Contains(string(review.Body), `"token":"`+token) {
			t.Errorf("%s: the answer has the password: %s", c.name, review.Body)
		}
		h.Send("DELETE", secrets+"/bootstrap-token-abcdef", "", nil)
	}
	if got := h.Send("GET", harness.ConfigMaps, "", nil, "Authorization", "Bearer "+token); got.Code != 401 {
		t.Errorf("a token without a secret: %d", got.Code)
	}
	off := harness.Start(t, nil)
	off.Create(secrets, `{"metadata":{"name":"bootstrap-token-abcdef"},"type":"bootstrap.kubernetes.io/token","stringData":{"token-id":"abcdef","token-secret":"0123456789abcdef","usage-bootstrap-authentication":"true"}}`)
	if got := off.Send("GET", harness.ConfigMaps, "", nil, "Authorization", "Bearer "+token); got.Code != 401 {
		t.Errorf("without --enable-bootstrap-token-auth: %d", got.Code)
	}
}
