package serve_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
	"github.com/capstan-dev/capstan/server/internal/seams"
)

// shortBodies are the times of short, with more time for a body.
func shortBodies(c *server.Config) {
	harness.EverybodyMay(c)
	c.RequestTimeout = 2 * time.Second
	harness.Shorten(c, func(d *seams.Durations) {
		d.Body, d.Owed, d.Answer, d.Stall = 300*time.Millisecond, 100*time.Millisecond, 100*time.Millisecond, time.Second
	})
}

// silence is a body without bytes.
type silence struct{ ctx context.Context }

func (s silence) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

// dribble is a body whose bytes come slowly and are not an object.
type dribble struct{ ctx context.Context }

func (d dribble) Read(p []byte) (int, error) {
	select {
	case <-time.After(20 * time.Millisecond):
	case <-d.ctx.Done():
		return 0, d.ctx.Err()
	}
	p[0] = ' '
	return 1, nil
}

// TestBodiesThatNeverCome: such bodies delay no other request, not even of their sender,
// and are given up soon, also when a byte comes now and then.
func TestBodiesThatNeverCome(t *testing.T) {
	for major := 1; major <= 2; major++ {
		t.Run(fmt.Sprintf("HTTP %d", major), func(t *testing.T) {
			h := harness.Start(t, func(c *server.Config) {
				shortBodies(c)
				c.MaxMutatingRequestsInflight = 4
			})
			if major == 2 {
				h.HTTP2()
			}
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			var pending []<-chan harness.Reply
			for range 20 {
				pending = append(pending, h.Begin(ctx, "POST", harness.ConfigMaps, silence{ctx}), h.Begin(ctx, "PUT", harness.ConfigMaps+"/a", dribble{ctx}))
			}
			h.Create(harness.ConfigMaps, harness.ConfigMap("a", "{}"))
			h.Send("POST", harness.ConfigMaps, "application/json", []byte(harness.ConfigMap("b", "{}")), harness.AsBob...).Expect(t, http.StatusCreated, "")
			h.Send("DELETE", harness.ConfigMaps+"/b", "", nil, harness.AsCarol...).Expect(t, http.StatusOK, "")
			for i, answer := range pending {
				got := <-answer
				if slow := i%2 == 1; slow && major == 1 && got.Code == 0 && strings.Contains(string(got.Body), "write tcp") {
					continue // the client was late, and wrote on to a closed connection: the answer is lost
				}
				got.Expect(t, http.StatusRequestTimeout, "Timeout")
			}
		})
	}
}

// TestLargeBodies: slow bodies may not fill the memory.
func TestLargeBodies(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) {
		shortBodies(c)
		harness.Shorten(c, func(d *seams.Durations) { d.Body = 10 * time.Second })
	})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	refused, answers := 0, make(chan harness.Reply)
	const pending = 14 // of which ten find room
	for range pending {
		answer := h.Begin(ctx, "POST", harness.ConfigMaps, io.MultiReader(bytes.NewReader(make([]byte, 2<<20)), dribble{ctx}))
		go func() { answers <- <-answer }()
	}
	for range pending - 10 {
		if got := <-answers; got.Code == http.StatusTooManyRequests || got.Code == 0 { // the answer is lost if the body is still on its way
			refused++
		}
	}
	if refused != pending-10 {
		t.Errorf("%d of %d were refused", refused, pending)
	}
	h.Send("POST", harness.ConfigMaps, "application/json", []byte(harness.ConfigMap("small", "{}")), harness.AsBob...).Expect(t, http.StatusCreated, "")
	h.Send("POST", harness.ConfigMaps, "application/json", []byte(harness.ConfigMap("large", `{"k":"`+strings.Repeat("x", 1<<20)+`"}`)), harness.AsCarol...).Expect(t, http.StatusCreated, "")
	cancel()
	for range 10 {
		<-answers
	}
}

// TestOwedBodies: a refused request, or one without use for its body, is answered without
// it. The connection of an unauthenticated client is closed.
func TestOwedBodies(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) {
		shortBodies(c)
		c.AuthorizationModes = nil
	})
	for _, test := range []struct {
		method, path, token string
		code                int
		closed              bool
	}{
		{"POST", harness.ConfigMaps, "", 403, true},
		{"POST", harness.ConfigMaps, "wrong", 401, true},
		{"GET", "/version", "", 200, true},
		{"POST", harness.ConfigMaps, "bob-token", 403, false},
		{"POST", "/nowhere", "admin-token", 404, false},
		{"GET", harness.ConfigMaps, "admin-token", 200, false},
	} {
		head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n", test.method, test.path)
		if test.token != "" {
			head += "Authorization: Bearer " + test.token + "\r\n"
		}
		begun := time.Now()
		conn := h.Line("http/1.1", head+"\r\n")
		r := bufio.NewReader(conn)
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatalf("%+v: %v", test, err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != test.code || resp.Close != test.closed && test.closed {
			t.Errorf("%+v: %s, close %t, %v", test, resp.Status, resp.Close, err)
		}
		if rest, err := io.ReadAll(r); err != nil && !strings.Contains(err.Error(), "reset") || len(rest) > 0 || time.Since(begun) > 8*time.Second {
			t.Errorf("%+v: after %s %q %v", test, time.Since(begun), rest, err)
		}
	}
	// One that sends its body after all may go on.
	const again = "POST " + harness.ConfigMaps + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\nAuthorization: Bearer bob-token\r\n\r\n0123456789"
	r := bufio.NewReader(h.Line("http/1.1", again, again))
	for range 2 {
		resp, err := http.ReadResponse(r, nil)
		if err != nil || resp.StatusCode != 403 || resp.Close {
			t.Fatalf("%+v %v", resp, err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
	}
}

// frame is a frame of HTTP/2.
func frame(kind, flags byte, stream uint32, payload string) string {
	head := make([]byte, 9, 9+len(payload))
	binary.BigEndian.PutUint32(head, uint32(len(payload))<<8|uint32(kind))
	head[4] = flags
	binary.BigEndian.PutUint32(head[5:], stream)
	return string(head) + payload
}

// http2Request is the frames of a GET, without Huffman codes and tables.
func http2Request(stream uint32, path string) string {
	var block strings.Builder
	for _, field := range [][2]string{{":method", "GET"}, {":scheme", "https"}, {":authority", "localhost"}, {":path", path}, {"authorization", "Bearer bob-token"}} {
		block.WriteString("\x00" + string(rune(len(field[0]))) + field[0] + string(rune(len(field[1]))) + field[1])
	}
	return frame(1, 1|4, stream, block.String())
}

// http2Begin is the beginning of a client that reads no byte of any answer.
const http2Begin = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

func noWindow() string { return http2Begin + frame(4, 0, 0, "\x00\x04\x00\x00\x00\x00") }

// TestClientsWithoutWindow: unread answers of HTTP/2 are given up, large ones and small
// ones, which wait after the handler.
func TestClientsWithoutWindow(t *testing.T) {
	h := harness.Start(t, shortBodies)
	h.Create(harness.ConfigMaps, harness.ConfigMap("large", `{"k":"`+strings.Repeat("x", 1<<20)+`"}`))
	conn := h.Line("h2", noWindow())
	const streams = 160 // those beyond bob's share of memory are refused
	for i := range uint32(streams) {
		path := harness.ConfigMaps + "/large"
		if i%2 == 1 {
			path = "/version"
		}
		if _, err := io.WriteString(conn, http2Request(2*i+1, path)); err != nil {
			t.Fatal(err)
		}
	}
	head := make([]byte, 9)
	for reset := 0; reset < streams; {
		if _, err := io.ReadFull(conn, head); err != nil {
			t.Fatalf("%d of %d streams were reset: %v", reset, streams, err)
		}
		if _, err := io.CopyN(io.Discard, conn, int64(binary.BigEndian.Uint32(head)>>8)); err != nil {
			t.Fatal(err)
		}
		if head[3] == 3 {
			reset++
		}
	}
	h.Send("GET", harness.ConfigMaps+"/large", "", nil, harness.AsBob...).Expect(t, http.StatusOK, "")
	const refused = `apiserver_request_total{code="429",component="apiserver",dry_run="",group="",resource="configmaps",scope="resource",subresource="",verb="GET",version="v1"`
	if h.Figures()[refused] == "" {
		t.Error("all large answers have room, not 63 of 80")
	}
}

// TestSlowReader: the time of a request includes its answer; a client that reads a little
// now and then does not keep a view of the store.
func TestSlowReader(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) {
		shortBodies(c)
		c.RequestTimeout = 500 * time.Millisecond
	})
	text := strings.Repeat("x", 1<<20)
	for i := range 14 {
		h.Create(harness.ConfigMaps, harness.ConfigMap(fmt.Sprintf("large-%02d", i), `{"k":"`+text+`"}`))
	}
	for major := 1; major <= 2; major++ {
		t.Run(fmt.Sprintf("HTTP %d", major), func(t *testing.T) {
			h.HTTP.Transport.(*http.Transport).ForceAttemptHTTP2 = major == 2
			req, _ := http.NewRequest("GET", h.Running.URL()+harness.ConfigMaps, nil)
			req.Header.Set("Authorization", "Bearer bob-token")
			req.Header.Set("Accept-Encoding", "identity")
			resp, err := h.HTTP.Transport.(*http.Transport).Clone().RoundTrip(req)
			if err != nil || resp.ProtoMajor != major {
				t.Fatal(resp, err)
			}
			defer resp.Body.Close()
			part, begun := make([]byte, 4<<10), time.Now()
			for err == nil {
				_, err = resp.Body.Read(part)
				time.Sleep(2 * time.Millisecond)
			}
			if err == io.EOF {
				t.Errorf("the list came to its end, in %s", time.Since(begun))
			}
			const reading = `apiserver_current_inflight_requests{request_kind="readOnly"`
			if n := h.Figures()[reading]; n != "1" {
				t.Errorf("%s requests are in flight", n)
			}
		})
	}
}

// TestSlowHeads: clients that do not finish TLS or the head of a request are dropped.
func TestSlowHeads(t *testing.T) {
	h := harness.Start(t, func(c *server.Config) {
		harness.Shorten(c, func(d *seams.Durations) { d.Header, d.Idle = 200*time.Millisecond, 200*time.Millisecond })
	})
	for name, conn := range map[string]io.Reader{
		"HTTP/1.1": h.Line("http/1.1", "GET /version HTTP/1.1\r\nHost: "),
		"nothing":  h.Line("http/1.1"),
		"HTTP/2":   h.Line("h2", http2Begin+frame(4, 0, 0, ""), frame(1, 0, 1, "\x00")),
	} {
		if _, err := io.Copy(io.Discard, conn); err != nil && !strings.Contains(err.Error(), "reset") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestClientsWithoutVoice: a client that closes its side of the connection while it waits
// counts as gone. If it still reads, it must not see a success.
func TestClientsWithoutVoice(t *testing.T) {
	h := harness.Start(t, nil)
	for _, query := range []string{"?resourceVersion=1000000", "?watch=1&resourceVersion=1000000&resourceVersionMatch=NotOlderThan&sendInitialEvents=true&allowWatchBookmarks=true"} {
		conn := h.Line("http/1.1", "GET "+harness.ConfigMaps+query+" HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+harness.AdminToken+"\r\n\r\n")
		if err := conn.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(conn); len(got) > 0 || err != nil && !strings.Contains(err.Error(), "reset") {
			t.Errorf("%s: %.200q %v", query, got, err)
		}
	}
}
