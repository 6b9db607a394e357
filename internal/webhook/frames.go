package webhook

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/net/http2/hpack"
)

// Frames of HTTP/2 (RFC 9113, 6).
const (
	frameHead = 9

	frameData, frameHeaders, framePriority, frameReset, frameSettings = 0, 1, 2, 3, 4
	framePush, framePing, frameGoAway, frameUpdate, frameContinuation = 5, 6, 7, 8, 9

	flagEnd, flagAck   = 1, 1 // of data and headers; of settings and pings
	flagEndHeaders     = 4
	flagPadded         = 8
	flagPriority       = 32
	codeCancel         = 8
	settingTableSize   = 1
	settingStreams     = 3
	settingFirstWindow = 4
)

// Bounds of connections of HTTP/2.
const (
	mostFrame    = 16 << 10   // bytes of a frame without its head, in both directions
	mostHeaders  = 64 << 10   // bytes of an answer's headers
	firstWindow  = 64<<10 - 1 // bytes of bodies that may be sent before the server says more
	streamWindow = 256 << 10  // bytes of an answer that wait for their reader
	wholeWindow  = 1 << 30    // of all answers: those of each are bounded
	lastStream   = 1<<31 - 1 - 2
	keptRoom     = 64 << 10
	mostReplies  = 64 << 10 // bytes of frames in answer to frames, which wait to be written
	glance       = 50 * time.Millisecond
)

// preface is the beginning of a connection: no pushed answers, the windows.
var preface = func() []byte {
	b := appendHead([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 18, frameSettings, 0, 0)
	for _, s := range []struct {
		id    uint16
		value uint32
	}{{2, 0}, {settingFirstWindow, streamWindow}, {6, mostHeaders}} {
		b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(b, s.id), s.value)
	}
	return appendUpdate(b, 0, wholeWindow-firstWindow)
}()

func appendHead(b []byte, length int, kind, flags byte, id uint32) []byte {
	return binary.BigEndian.AppendUint32(append(b, byte(length>>16), byte(length>>8), byte(length), kind, flags), id)
}

func appendUpdate(b []byte, id uint32, more int) []byte {
	return binary.BigEndian.AppendUint32(appendHead(b, 4, frameUpdate, 0, id), uint32(more))
}

// appendBlock writes the frames of a header block.
func appendBlock(b []byte, id uint32, flags byte, block []byte) []byte {
	for kind := byte(frameHeaders); ; kind, flags = frameContinuation, 0 {
		part := block[:min(len(block), mostFrame)]
		if block = block[len(part):]; len(block) == 0 {
			flags |= flagEndHeaders
		}
		b = append(appendHead(b, len(part), kind, flags, id), part...)
		if len(block) == 0 {
			return b
		}
	}
}

// headerBlock is the headers of an answer that have been read.
type headerBlock struct {
	id   uint32 // 0 for none
	ends bool   // the answer has no body
	text []byte
}

var errProtocol = errors.New("the webhook's server does not speak HTTP/2 as it should")

// frames handles the complete frames that have been read.
func (m *multiplex) frames() error {
	in := m.in
	for len(in) >= frameHead {
		length := int(in[0])<<16 | int(in[1])<<8 | int(in[2])
		if length > mostFrame {
			return fmt.Errorf("%w: a frame of %d bytes", errProtocol, length)
		}
		if len(in) < frameHead+length {
			break
		}
		kind, flags, id := in[3], in[4], binary.BigEndian.Uint32(in[5:])&(1<<31-1)
		payload := in[frameHead : frameHead+length]
		if (m.headers.id != 0) != (kind == frameContinuation) || id != m.headers.id && m.headers.id != 0 {
			return fmt.Errorf("%w: headers are interrupted", errProtocol)
		}
		before := len(m.out)
		if err := m.frame(kind, flags, id, payload); err != nil {
			return err
		}
		if m.replies += len(m.out) - before; m.replies > mostReplies {
			return fmt.Errorf("%w: it asks for frames and does not read them", errProtocol)
		}
		in = in[frameHead+length:]
	}
	m.in = m.in[:copy(m.in, in)]
	return nil
}

func (m *multiplex) frame(kind, flags byte, id uint32, payload []byte) error {
	s := m.streams[id] // nil for a call that is over
	switch kind {
	case frameData:
		return m.data(s, flags, payload)
	case frameHeaders:
		body, ok := unpad(flags, payload)
		if flags&flagPriority != 0 && ok {
			if ok = len(body) >= 5; ok {
				body = body[5:]
			}
		}
		if !ok || id == 0 {
			return fmt.Errorf("%w: padding of headers", errProtocol)
		}
		m.headers = headerBlock{id, flags&flagEnd != 0, append(m.headers.text[:0], body...)}
		return m.endHeaders(flags)
	case frameContinuation:
		m.headers.text = append(m.headers.text, payload...)
		return m.endHeaders(flags)
	case frameReset:
		if len(payload) != 4 {
			return fmt.Errorf("%w: a reset of %d bytes", errProtocol, len(payload))
		}
		if s != nil {
			s.end(fmt.Errorf("the webhook's server has reset the call, with code %d of HTTP/2", binary.BigEndian.Uint32(payload)))
		}
	case frameSettings:
		return m.settings(flags, payload)
	case framePing:
		if flags&flagAck == 0 && len(payload) == 8 {
			m.out = append(appendHead(m.out, 8, framePing, flagAck, 0), payload...)
		}
	case frameGoAway:
		return m.goAway(payload)
	case frameUpdate:
		return m.update(s, id, payload)
	case framePush:
		return fmt.Errorf("%w: an answer without a question", errProtocol)
	}
	return nil
}

// unpad is a payload without padding.
func unpad(flags byte, payload []byte) ([]byte, bool) {
	if flags&flagPadded == 0 {
		return payload, true
	}
	if len(payload) == 0 || int(payload[0]) >= len(payload) {
		return nil, false
	}
	return payload[1 : len(payload)-int(payload[0])], true
}

func (m *multiplex) data(s *stream, flags byte, payload []byte) error {
	if m.unpaid += len(payload); m.unpaid >= wholeWindow/2 {
		m.out = appendUpdate(m.out, 0, m.unpaid)
		m.unpaid = 0
	}
	body, ok := unpad(flags, payload)
	switch {
	case !ok:
		return fmt.Errorf("%w: padding of data", errProtocol)
	case s == nil || s.ended || s.err != nil:
		return nil
	case s.answer == nil, s.unpaid+len(s.body)+len(payload) > streamWindow:
		return fmt.Errorf("%w: data before headers, or more than allowed", errProtocol)
	}
	s.body = append(s.body, body...)
	s.unpaid += len(payload) - len(body)
	s.ended = flags&flagEnd != 0
	s.signal()
	return nil
}

// endHeaders handles a header block if it is complete: the headers of an answer, or
// what follows its body.
func (m *multiplex) endHeaders(flags byte) error {
	if len(m.headers.text) > mostHeaders {
		return fmt.Errorf("%w: more than %d bytes of headers", errProtocol, mostHeaders)
	}
	if flags&flagEndHeaders == 0 {
		return nil
	}
	s := m.streams[m.headers.id]
	m.headers.id = 0
	answer := &http.Response{Proto: "HTTP/2.0", ProtoMajor: 2, Header: http.Header{}, ContentLength: -1}
	m.decoder.SetEmitFunc(func(f hpack.HeaderField) {
		switch {
		case f.Name == ":status":
			answer.StatusCode, _ = strconv.Atoi(f.Value)
		case !f.IsPseudo():
			answer.Header.Add(f.Name, f.Value)
		}
	})
	if _, err := m.decoder.Write(m.headers.text); err != nil {
		return fmt.Errorf("%w: %w", errProtocol, err)
	}
	if err := m.decoder.Close(); err != nil {
		return fmt.Errorf("%w: %w", errProtocol, err)
	}
	switch {
	case s == nil:
		return nil
	case s.answer == nil && answer.StatusCode < 100 || s.answer != nil && !m.headers.ends:
		return fmt.Errorf("%w: an answer without a code", errProtocol)
	case s.answer == nil && answer.StatusCode >= 200:
		if length, err := strconv.ParseInt(answer.Header.Get("Content-Length"), 10, 64); err == nil {
			answer.ContentLength = length
		}
		answer.Status = strconv.Itoa(answer.StatusCode) + " " + http.StatusText(answer.StatusCode)
		s.answer = answer
	}
	s.ended = m.headers.ends
	s.signal()
	return nil
}

func (m *multiplex) settings(flags byte, payload []byte) error {
	if flags&flagAck != 0 {
		return nil
	}
	for ; len(payload) >= 6; payload = payload[6:] {
		value := binary.BigEndian.Uint32(payload[2:])
		switch binary.BigEndian.Uint16(payload) {
		case settingTableSize:
			m.encoder.SetMaxDynamicTableSizeLimit(value)
		case settingStreams:
			m.most = value
		case settingFirstWindow:
			if value > 1<<31-1 {
				return fmt.Errorf("%w: a window of %d bytes", errProtocol, value)
			}
			for _, s := range m.streams {
				s.window += int64(value) - m.first
				s.signal()
			}
			m.first = int64(value)
		}
	}
	m.out = appendHead(m.out, 0, frameSettings, flagAck, 0)
	return nil
}

// goAway ends calls that the server has not begun: they are repeated elsewhere, if the
// connection had others before.
func (m *multiplex) goAway(payload []byte) error {
	if len(payload) < 8 {
		return fmt.Errorf("%w: a farewell of %d bytes", errProtocol, len(payload))
	}
	m.retired = true
	last := binary.BigEndian.Uint32(payload) & (1<<31 - 1)
	for id, s := range m.streams {
		switch {
		case id > last && id > 1:
			s.end(unusable{})
		case id > last:
			s.end(fmt.Errorf("the webhook's server has ended the connection, with code %d of HTTP/2", binary.BigEndian.Uint32(payload[4:])))
		}
	}
	return nil
}

func (m *multiplex) update(s *stream, id uint32, payload []byte) error {
	if len(payload) != 4 {
		return fmt.Errorf("%w: a window of %d bytes", errProtocol, len(payload))
	}
	more := int64(binary.BigEndian.Uint32(payload) & (1<<31 - 1))
	window := &m.window
	switch {
	case id == 0:
		for _, s := range m.streams {
			s.signal()
		}
	case s == nil:
		return nil
	default:
		window = &s.window
		s.signal()
	}
	if *window += more; *window > 1<<31-1 {
		return fmt.Errorf("%w: a window of %d bytes", errProtocol, *window)
	}
	return nil
}
