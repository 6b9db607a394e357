package request

import "sync/atomic"

// GatherRoom bounds the memory of all gathered answers together: lists whose length has
// to be known before the first byte, or that are indented as a whole. A list that finds
// no room is answered in another way, which takes more time or is not indented, but no
// memory.
type GatherRoom struct {
	size    int64
	left    atomic.Int64 // bytes
	buffers *buffers
}

// NewGatherRoom makes room for so many bytes.
func NewGatherRoom(bytes int64) *GatherRoom {
	r := &GatherRoom{size: bytes, buffers: newBuffers(ListBuffer+listSlack, 2*ListBuffer)}
	r.left.Store(bytes)
	return r
}

// Gathered is the gathered part of one answer. It must be released.
type Gathered struct {
	room  *GatherRoom
	Parts []*[]byte
	Taken int64
	most  int64
}

// Open begins an answer, of which nothing is gathered yet.
func (r *GatherRoom) Open() *Gathered { return &Gathered{room: r, most: r.size} }

// OpenShare is Open for an answer that gets a quarter of the room at most.
func (r *GatherRoom) OpenShare() *Gathered { return &Gathered{room: r, most: r.size / 4} }

// Buffer returns an empty buffer of ListBuffer bytes and some more.
func (g *Gathered) Buffer() *[]byte { return g.room.Buffer() }

// Keep adds a buffer. It reports false when there is no room for it; the buffer still is
// the caller's then, and the earlier ones are kept.
func (g *Gathered) Keep(part *[]byte) bool {
	size := int64(cap(*part))
	if g.Taken+size > g.most {
		return false
	}
	if g.room.left.Add(-size) < 0 {
		g.room.left.Add(size)
		return false
	}
	g.Taken += size
	g.Parts = append(g.Parts, part)
	return true
}

// Release frees all memory. reuse means that nothing reads it any more: after a failure
// HTTP/2 may still be sending it.
func (g *Gathered) Release(reuse bool) {
	g.room.left.Add(g.Taken)
	for _, p := range g.Parts {
		if reuse {
			g.room.Free(p)
		}
	}
	g.Parts, g.Taken = nil, 0
}

// ListBuffer is the number of bytes of a list that are gathered before they are written,
// listSlack the extra room of a buffer, so that the last object rarely makes it grow.
const (
	ListBuffer = 64 << 10
	listSlack  = 16 << 10
	// FirstWrite is the number of bytes of a list that are gathered before the first
	// write. A list with fewer is sent with its length, in one system call.
	FirstWrite = 32 << 10
)

// Buffer returns an empty buffer of ListBuffer bytes and some more.
func (r *GatherRoom) Buffer() *[]byte { return r.buffers.get() }

// Free returns an unused buffer.
func (r *GatherRoom) Free(p *[]byte) { r.buffers.free(p) }
