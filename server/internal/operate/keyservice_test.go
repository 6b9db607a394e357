package operate_test

import (
	"bytes"
	"strings"
	"sync"
	"testing"

	"github.com/capstan-dev/capstan/internal/kmstest"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// Requests that need the same answer of a key management service wait for one question, not
// one after the other for a question of their own: else a service that does not answer
// makes each wait longer than the one before, past its time. So do health checks, which anybody may ask for.
func TestHangingKeyService(t *testing.T) {
	kms, dir := kmstest.Start(t), t.TempDir()
	start := func() *harness.Server {
		return harness.Start(t, func(c *server.Config) {
			c.InMemory, c.DataDir = false, dir
			c.EncryptionConfigFile = harness.EncryptionConfig(t, `{kms: {name: k, endpoint: "`+kms.Endpoint+`", timeout: 1s}}`)
		})
	}
	h := start()
	h.Create(secretsPath, `{"metadata":{"name":"a"}}`)
	if err := h.Running.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	h = start()
	kms.Hangs.Store(true)
	const each = 12
	var all sync.WaitGroup
	for _, ask := range []func() harness.Reply{
		func() harness.Reply { return h.Get(secretsPath + "/a") },
		func() harness.Reply { return h.Post(secretsPath, `{"metadata":{"generateName":"b"}}`) },
		func() harness.Reply { return h.Get("/readyz/kms-provider-0") },
	} {
		for range each {
			all.Go(func() {
				if r := ask(); r.Code < 500 || !bytes.Contains(r.Body, []byte("service failed")) && !strings.Contains(string(r.Body), "time") {
					t.Errorf("%d %s", r.Code, r.Body)
				}
			})
		}
	}
	all.Wait()
	if n := kms.Hung.Load(); n > each {
		t.Errorf("%d requests put %d questions; those of one kind that come together need one", 3*each, n)
	}
	kms.Hangs.Store(false)
	h.Get(secretsPath+"/a").Expect(t, 200, "")
}
