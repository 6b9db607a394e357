package webhook

import (
	"testing"

	"golang.org/x/net/http2/hpack"
)

// FuzzFrames reads frames of a hostile server in pieces: what they make the connection
// keep is bounded, and no call has more of its answer than it allowed.
func FuzzFrames(f *testing.F) {
	answer := appendBlock(nil, 1, 0, []byte{0x88}) // :status 200
	answer = append(appendHead(answer, 2, frameData, flagEnd, 1), "{}"...)
	settings := appendHead(nil, 6, frameSettings, 0, 0)
	settings = append(settings, 0, settingFirstWindow, 0x7f, 0xff, 0xff, 0xff)
	f.Add(answer, uint16(5))
	f.Add(append(settings, answer...), uint16(1000))
	f.Add(appendHead(appendUpdate(nil, 3, 1<<31-1), 8, framePing, 0, 0), uint16(1))
	f.Add(appendHead(append(answer[:9:9], answer...), 0, frameContinuation, flagEndHeaders, 1), uint16(3))
	f.Fuzz(func(t *testing.T, sent []byte, step uint16) {
		m := &multiplex{streams: map[uint32]*stream{}, most: 100, window: firstWindow, first: firstWindow, decoder: hpack.NewDecoder(4096, nil)}
		m.encoder = hpack.NewEncoder(&m.block)
		m.decoder.SetMaxStringLength(mostHeaders)
		for id := uint32(1); id < 8; id += 2 {
			m.streams[id] = &stream{m: m, id: id, window: m.first, wake: make(chan struct{}, 1)}
		}
		for len(sent) > 0 {
			n := min(len(sent), int(step)+1, frameHead+mostFrame-len(m.in))
			if n == 0 {
				t.Fatal("a whole frame was not handled")
			}
			m.in, sent = append(m.in, sent[:n]...), sent[n:]
			if m.frames() != nil {
				break
			}
		}
		if len(m.out) > mostReplies+mostFrame || len(m.headers.text) > mostHeaders+mostFrame {
			t.Errorf("%d bytes wait to be written, %d of headers", len(m.out), len(m.headers.text))
		}
		for id, s := range m.streams {
			if len(s.body) > streamWindow {
				t.Errorf("call %d has %d bytes of an answer", id, len(s.body))
			}
		}
	})
}
