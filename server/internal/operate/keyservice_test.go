package operate_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// keyService is a key management service (KMS v1) that encrypts a key as the key itself.
type keyService struct {
	path  string
	hangs atomic.Bool  // it answers nothing
	asked atomic.Int64 // questions while it hangs
}

func startKeyService(t *testing.T) *keyService {
	s := &keyService{path: filepath.Join(t.TempDir(), "kms.sock")}
	l, err := net.Listen("unix", s.path)
	if err != nil {
		t.Fatal(err)
	}
	h := &http.Server{Protocols: new(http.Protocols), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.hangs.Load() {
			s.asked.Add(1)
			<-r.Context().Done()
			return
		}
		question, _ := io.ReadAll(r.Body)
		// The message: five bytes of gRPC, the version, and the value as field 2, of one byte of length.
		value := question[5+len("\x0a\x07v1beta1\x12\x00"):]
		answer := append([]byte{0x0a, byte(len(value))}, value...)
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status")
		_, _ = w.Write(append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(answer))), answer...))
		w.Header().Set("Grpc-Status", "0")
	})}
	h.Protocols.SetUnencryptedHTTP2(true)
	go func() { _ = h.Serve(l) }()
	t.Cleanup(func() { _ = h.Close() })
	return s
}

// Requests that need the same answer of a key management service wait for one question, not
// one after the other for a question of their own: else a service that does not answer
// makes each wait longer than the one before, past its time. So do health checks, which anybody may ask for.
func TestHangingKeyService(t *testing.T) {
	kms, dir := startKeyService(t), t.TempDir()
	start := func() *harness.Server {
		return harness.Start(t, func(c *server.Config) {
			c.InMemory, c.DataDir = false, dir
			c.EncryptionConfigFile = harness.EncryptionConfig(t, `{kms: {name: k, endpoint: "unix://`+kms.path+`", timeout: 1s}}`)
		})
	}
	h := start()
	h.Create(secretsPath, `{"metadata":{"name":"a"}}`)
	if err := h.Running.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	h = start()
	kms.hangs.Store(true)
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
	if n := kms.asked.Load(); n > each {
		t.Errorf("%d requests put %d questions; those of one kind that come together need one", 3*each, n)
	}
	kms.hangs.Store(false)
	h.Get(secretsPath+"/a").Expect(t, 200, "")
}
