package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// peer is one connection of a server that speaks HTTP/2 as a test wants.
type peer struct {
	*http2.Framer
	conn  net.Conn
	block bytes.Buffer
	enc   *hpack.Encoder
}

// speak runs such a server, which starts with settings, and counts the used connections.
func speak(t *testing.T, settings []http2.Setting, serve func(p *peer, number int32)) (url string, conns *atomic.Int32) {
	t.Helper()
	cert, _ := certify(t)
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	conns = &atomic.Int32{}
	var running sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); running.Wait() })
	running.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer func() { _ = conn.Close() }()
				p := &peer{Framer: http2.NewFramer(conn, conn), conn: conn}
				p.enc = hpack.NewEncoder(&p.block)
				start := make([]byte, len(http2.ClientPreface))
				if _, err := io.ReadFull(conn, start); err != nil || string(start) != http2.ClientPreface {
					return
				}
				_ = p.WriteSettings(settings...)
				serve(p, conns.Add(1))
			})
		}
	})
	return "https://" + l.Addr().String(), conns
}

// ask reads until the end of a request, and returns its number and body. Windows are
// opened by the bytes that have come.
func (p *peer) ask() (id uint32, body []byte, err error) {
	for {
		f, err := p.ReadFrame()
		if err != nil {
			return 0, nil, err
		}
		switch f := f.(type) {
		case *http2.HeadersFrame:
			if id = f.StreamID; f.StreamEnded() {
				return id, body, nil
			}
		case *http2.DataFrame:
			if body = append(body, f.Data()...); f.StreamEnded() {
				return id, body, nil
			}
			_ = p.WriteWindowUpdate(0, uint32(len(f.Data())))
			_ = p.WriteWindowUpdate(f.StreamID, uint32(len(f.Data())))
		}
	}
}

// fields is a header block.
func (p *peer) fields(pairs ...string) []byte {
	p.block.Reset()
	for i := 0; i < len(pairs); i += 2 {
		_ = p.enc.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	return p.block.Bytes()
}

func (p *peer) head(id uint32) {
	_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.fields(":status", "200", "content-type", "application/json"), EndHeaders: true})
}

func (p *peer) answer(id uint32, body string) {
	p.head(id)
	_ = p.WriteData(id, true, []byte(body))
}

func dial(t *testing.T, url string) *Client {
	t.Helper()
	c, err := New(Target{URL: url, Insecure: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

const patience = time.Minute

// A body of several windows arrives whole; an answer may come in parts, padded, with
// news before it and trailers behind it.
func TestUnusualAnswers(t *testing.T) {
	want := make([]byte, 300_000)
	for i := range want {
		want[i] = byte(rand.Uint32())
	}
	url, _ := speak(t, []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 1000}, {ID: http2.SettingHeaderTableSize, Val: 0}}, func(p *peer, _ int32) {
		for {
			id, body, err := p.ask()
			if err != nil {
				return
			}
			if len(body) > 0 && !bytes.Equal(body, want) {
				t.Error("another body arrived")
			}
			_ = p.WritePing(false, [8]byte{1})
			_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.fields(":status", "103", "link", "/a"), EndHeaders: true})
			_ = p.WriteRawFrame(0x77, 0, 0, []byte("of another time"))
			block := p.fields(":status", "200", "content-type", "application/json", "x-long", strings.Repeat("long", 5000))
			_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block[:10], PadLength: 7, Priority: http2.PriorityParam{Weight: 3}})
			_ = p.WriteContinuation(id, false, block[10:11])
			_ = p.WriteContinuation(id, true, block[11:])
			_ = p.WriteDataPadded(id, false, []byte("{"), make([]byte, 200))
			_ = p.WriteData(id, false, nil)
			_ = p.WriteData(id, false, []byte("}"))
			_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.fields("x-end", "now"), EndHeaders: true, EndStream: true})
		}
	})
	c := dial(t, url)
	for _, body := range [][]byte{want, nil, want} {
		if got, err := c.Call(t.Context(), Call{Body: body, Timeout: patience}); err != nil || string(got) != "{}" {
			t.Errorf("%q, %v", got, err)
		}
	}
}

// Calls at the same time share connections, as many as the server allows, and get each
// its own answer.
func TestSharedConnections(t *testing.T) {
	for _, most := range []uint32{1, 100} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			url, _ := speak(t, []http2.Setting{{ID: http2.SettingMaxConcurrentStreams, Val: most}}, func(p *peer, _ int32) {
				bodies := map[uint32]string{}
				for {
					f, err := p.ReadFrame()
					if err != nil {
						return
					}
					if d, ok := f.(*http2.DataFrame); ok {
						if bodies[d.StreamID] += string(d.Data()); d.StreamEnded() {
							p.answer(d.StreamID, bodies[d.StreamID])
							delete(bodies, d.StreamID)
						}
					}
				}
			})
			c := dial(t, url)
			var calls sync.WaitGroup
			for caller := range 16 {
				calls.Go(func() {
					for i := range 20 {
						body := fmt.Sprintf("%d-%d", caller, i)
						if got, err := c.Call(t.Context(), Call{Body: []byte(body), Timeout: patience}); err != nil || string(got) != body {
							t.Errorf("%q, %v, want %s", got, err, body)
						}
					}
				})
			}
			calls.Wait()
		})
	}
}

// A connection that ended while nobody used it, or refuses the call, is replaced.
func TestReplacedConnections(t *testing.T) {
	for name, end := range map[string]func(p *peer, next uint32){
		"closed":          func(*peer, uint32) {},
		"farewell":        func(p *peer, next uint32) { _ = p.WriteGoAway(next-2, http2.ErrCodeNo, nil) },
		"farewell, later": func(p *peer, next uint32) { _, _, _ = p.ask(); _ = p.WriteGoAway(next-2, http2.ErrCodeNo, nil) },
		"nonsense":        func(p *peer, _ uint32) { _ = p.WriteRawFrame(http2.FramePushPromise, 0, 1, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ended := make(chan struct{})
			url, conns := speak(t, nil, func(p *peer, number int32) {
				for {
					id, _, err := p.ask()
					if err != nil {
						return
					}
					if p.answer(id, "{}"); number == 1 {
						end(p, id+2)
						_ = p.conn.Close()
						close(ended)
						return
					}
				}
			})
			c := dial(t, url)
			for i := range 3 {
				if i == 1 && !strings.Contains(name, "later") {
					<-ended
				}
				if _, err := c.Call(t.Context(), Call{Body: []byte("1"), Timeout: patience}); err != nil {
					t.Fatal(err)
				}
			}
			if n := conns.Load(); n != 2 {
				t.Errorf("%d connections", n)
			}
		})
	}
}

// A server that does not speak the protocol, or sends more than allowed, is left.
func TestHostilePeers(t *testing.T) {
	for name, do := range map[string]func(p *peer, id uint32){
		"ended":               func(*peer, uint32) {},
		"reset":               func(p *peer, id uint32) { _ = p.WriteRSTStream(id, http2.ErrCodeRefusedStream) },
		"farewell":            func(p *peer, _ uint32) { _ = p.WriteGoAway(0, http2.ErrCodeNo, nil) },
		"frame too long":      func(p *peer, id uint32) { _ = p.WriteRawFrame(http2.FrameData, 0, id, make([]byte, 20_000)) },
		"data before headers": func(p *peer, id uint32) { _ = p.WriteData(id, true, []byte("{}")) },
		"no code": func(p *peer, id uint32) {
			_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.fields("a", "b"), EndHeaders: true})
		},
		"not headers": func(p *peer, id uint32) {
			_ = p.WriteRawFrame(http2.FrameHeaders, http2.FlagHeadersEndHeaders, id, bytes.Repeat([]byte{0xff}, 30))
		},
		"half headers": func(p *peer, id uint32) {
			_ = p.WriteRawFrame(http2.FrameHeaders, http2.FlagHeadersEndHeaders, id, p.fields(":status", "200")[:0])
		},
		"interrupted headers": func(p *peer, id uint32) {
			_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.fields(":status", "200")})
			_ = p.WritePing(false, [8]byte{})
		},
		"endless headers": func(p *peer, id uint32) {
			_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.fields(":status", "200")})
			for p.WriteContinuation(id, false, make([]byte, 1000)) == nil {
			}
		},
		"wide window": func(p *peer, _ uint32) { _ = p.WriteWindowUpdate(0, 1<<31-1) },
		"wide settings": func(p *peer, _ uint32) {
			_ = p.WriteRawFrame(http2.FrameSettings, 0, 0, []byte{0, 4, 255, 255, 255, 255})
		},
		"padding": func(p *peer, id uint32) {
			_ = p.WriteRawFrame(http2.FrameHeaders, http2.FlagHeadersPadded, id, []byte{9, 1})
		},
		"too much": func(p *peer, id uint32) {
			p.head(id)
			for p.WriteData(id, false, make([]byte, 16_000)) == nil {
			}
		},
		"cut": func(p *peer, id uint32) {
			_ = p.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: p.fields(":status", "200", "content-length", "9"), EndHeaders: true})
			_ = p.WriteData(id, true, []byte("{}"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, conns := speak(t, nil, func(p *peer, _ int32) {
				p.AllowIllegalWrites = true
				if id, _, err := p.ask(); err == nil {
					do(p, id)
				}
			})
			if _, err := dial(t, url).Call(t.Context(), Call{Body: []byte("{}"), Timeout: patience}); err == nil || errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%v", err)
			}
			if n := conns.Load(); n > mostDials {
				t.Errorf("%d connections", n)
			}
		})
	}
}

// A server that reads nothing holds a call no longer than its time, and a call that is
// canceled in the middle of a frame leaves the connection to the others.
func TestCallsThatEndEarly(t *testing.T) {
	t.Run("reads nothing", func(t *testing.T) {
		t.Parallel()
		done := make(chan struct{})
		url, _ := speak(t, []http2.Setting{{ID: http2.SettingInitialWindowSize, Val: 1 << 30}}, func(p *peer, _ int32) {
			_ = p.WriteWindowUpdate(0, 1<<30)
			<-done
		})
		c := dial(t, url)
		defer close(done)
		_, err := c.Call(t.Context(), Call{Body: make([]byte, 64<<20), Timeout: 50 * time.Millisecond})
		if !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	t.Run("in a frame", func(t *testing.T) {
		t.Parallel()
		begun, half, canceled := make(chan struct{}), make(chan struct{}), make(chan struct{})
		url, conns := speak(t, nil, func(p *peer, _ int32) {
			_, _, _ = p.ask()
			close(begun)
			second, _, err := p.ask()
			if err != nil {
				return
			}
			p.head(second)
			_ = p.WriteData(second, false, []byte("{"))
			_, _ = p.conn.Write([]byte{0, 0, 1, 0, 1, 0, 0})
			close(half)
			<-canceled
			_, _ = p.conn.Write([]byte{0, byte(second), '}'})
			for {
				id, _, err := p.ask()
				if err != nil {
					return
				}
				p.answer(id, "{}")
			}
		})
		c := dial(t, url)
		ctx, cancel := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		calls.Go(func() {
			if _, err := c.Call(ctx, Call{Timeout: patience}); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			close(canceled)
		})
		<-begun
		calls.Go(func() {
			if got, err := c.Call(t.Context(), Call{Timeout: patience}); err != nil || string(got) != "{}" {
				t.Errorf("%q, %v", got, err)
			}
		})
		<-half
		cancel()
		calls.Wait()
		if _, err := c.Call(t.Context(), Call{Timeout: patience}); err != nil || conns.Load() != 1 {
			t.Errorf("%v, %d connections", err, conns.Load())
		}
	})
}

// A server that offers only HTTP/1.1 is called by it.
func TestOldServers(t *testing.T) {
	var proto atomic.Pointer[string]
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { proto.Store(&r.Proto); _, _ = io.WriteString(w, "{}") }))
	defer s.Close()
	if _, err := dial(t, s.URL).Call(t.Context(), Call{Timeout: patience}); err != nil || *proto.Load() != "HTTP/1.1" {
		t.Error(err, *proto.Load())
	}
}
