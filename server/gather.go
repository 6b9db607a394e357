package server

import (
	"sync"
	"sync/atomic"

	"github.com/capstan-dev/capstan/internal/codec"
)

// gatherRoom bounds what all answers together hold back in memory: lists whose
// length has to be known before the first byte, or that are laid out as a whole.
// A list that finds no room is answered in another way, which takes more time or
// is less pretty, but no memory.
type gatherRoom struct {
	left    atomic.Int64 // bytes
	buffers *sync.Pool   // of *[]byte, see listBuffer
}

func newGatherRoom(bytes int64, buffers *sync.Pool) *gatherRoom {
	r := &gatherRoom{buffers: buffers}
	r.left.Store(bytes)
	return r
}

// gathered is what one answer holds back. It must be released.
type gathered struct {
	room  *gatherRoom
	parts []*[]byte
	taken int64
}

func (r *gatherRoom) open() *gathered { return &gathered{room: r} }

// buffer gives an empty buffer of listBuffer bytes and some more.
func (g *gathered) buffer() *[]byte { return g.room.buffers.Get().(*[]byte) }

// keep holds a buffer back. It reports false when there is no room for it; the
// buffer still is the caller's then, and all that was held is kept on.
func (g *gathered) keep(part *[]byte) bool {
	size := int64(cap(*part))
	if g.room.left.Add(-size) < 0 {
		g.room.left.Add(size)
		return false
	}
	g.taken += size
	g.parts = append(g.parts, part)
	return true
}

// release gives all memory back. reuse says that nobody reads it any more: after
// a failure HTTP/2 may still be sending it.
func (g *gathered) release(reuse bool) {
	g.room.left.Add(g.taken)
	for _, p := range g.parts {
		if reuse {
			g.free(p)
		}
	}
	g.parts, g.taken = nil, 0
}

// free gives a buffer back that nobody reads any more.
func (g *gathered) free(p *[]byte) {
	if cap(*p) <= 2*listBuffer {
		*p = (*p)[:0]
		g.room.buffers.Put(p)
	}
}

// layout is an io.Writer for a list that is to be laid out for people, which
// needs all of it. When there is no room for that it becomes a stream, and the
// list goes out as it is: YAML is as happy with that as JSON.
type layout struct {
	held *gathered
	out  *streamWriter // set when there was no room
	r    *request
}

func (l *layout) Write(p []byte) (int, error) {
	if l.out != nil {
		return l.out.Write(p)
	}
	part := l.held.buffer()
	*part = append(*part, p...)
	if l.held.keep(part) {
		return len(p), nil
	}
	l.out = &streamWriter{r: l.r}
	if l.r.accept.Format == codec.YAML {
		l.out.contentType = "application/yaml"
	}
	for _, held := range append(l.held.parts, part) {
		if _, err := l.out.Write(*held); err != nil {
			return 0, err
		}
	}
	l.held.release(true)
	return len(p), nil
}

// whole is the text with rest behind it.
func (l *layout) whole(rest []byte) []byte {
	text := make([]byte, 0, int(l.held.taken)+len(rest))
	for _, p := range l.held.parts {
		text = append(text, *p...)
	}
	return append(text, rest...)
}
