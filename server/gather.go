package server

import (
	"sync"
	"sync/atomic"
)

// gatherRoom bounds what all answers together hold back in memory: lists whose
// length has to be known before the first byte, or that are laid out as a whole.
// A list that finds no room is answered in another way, which takes more time or
// is less pretty, but no memory.
type gatherRoom struct {
	left    atomic.Int64 // bytes
	buffers sync.Pool    // of *[]byte, see listBuffer
}

func newGatherRoom(bytes int64) *gatherRoom {
	r := &gatherRoom{buffers: sync.Pool{New: newListBuffer}}
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
func (g *gathered) buffer() *[]byte { return g.room.buffer() }

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
			g.room.free(p)
		}
	}
	g.parts, g.taken = nil, 0
}

// listBuffer is how many bytes of a list are gathered before they are written,
// listSlack how much room a buffer has beyond, so that the last object before
// that rarely makes it grow.
const (
	listBuffer = 64 << 10
	listSlack  = 16 << 10
	// firstWrite is how many bytes of a list are gathered before the first write.
	firstWrite = 4 << 10
)

// newListBuffer is a buffer of a gatherRoom.
func newListBuffer() any {
	buf := make([]byte, 0, listBuffer+listSlack)
	return &buf
}

// buffer gives an empty buffer of listBuffer bytes and some more.
func (r *gatherRoom) buffer() *[]byte { return r.buffers.Get().(*[]byte) }

// free gives a buffer back that nobody reads any more.
func (r *gatherRoom) free(p *[]byte) {
	if cap(*p) <= 2*listBuffer {
		*p = (*p)[:0]
		r.buffers.Put(p)
	}
}
