package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/measured"
)

// otherProcess says in the environment that this process is the webhook of BenchmarkCall.
const otherProcess = "CAPSTAN_WEBHOOK_PROCESS"

// place is the address of the webhook, and its authority.
type place struct {
	URL string
	CA  []byte
}

// TestWebhookProcess is the webhook of BenchmarkCall, which answers until its input ends.
func TestWebhookProcess(t *testing.T) {
	if os.Getenv(otherProcess) == "" {
		t.Skip("it is started by BenchmarkCall")
	}
	cert, authority := certify(t, "localhost")
	answer := bytes.Repeat([]byte("a"), 300)
	s := serve(t, cert, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = w.Write(answer)
	})
	if err := json.NewEncoder(os.Stdout).Encode(place{s.URL, authority}); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// BenchmarkCall measures the processor time of the calling side of a call with 3 KiB, over a
// connection that is open.
func BenchmarkCall(b *testing.B) {
	other := exec.Command(os.Args[0], "-test.run", "^TestWebhookProcess$")
	other.Env = append(os.Environ(), otherProcess+"=1")
	stop, err := other.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	said, err := other.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := other.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = stop.Close(); _ = other.Wait() })
	var at place
	if err := json.NewDecoder(said).Decode(&at); err != nil {
		b.Fatal(err)
	}
	c, err := New(Target{URL: at.URL, CABundle: at.CA}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.Close)
	body := bytes.Repeat([]byte("q"), 3<<10)
	call := func() {
		if _, err := c.Call(context.Background(), Call{Body: body, Timeout: time.Minute}); err != nil {
			b.Error(err)
		}
	}
	b.Run("one after the other", func(b *testing.B) {
		report := measured.Report(b)
		for b.Loop() {
			call()
		}
		report()
	})
	b.Run("many at once", func(b *testing.B) {
		b.SetParallelism(16)
		report := measured.Report(b)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				call()
			}
		})
		report()
	})
}
