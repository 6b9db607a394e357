package request

import "sync"

// buffers are empty buffers for reuse, of a size at least. One that has grown beyond most bytes is dropped.
type buffers struct {
	pool sync.Pool // of *[]byte
	most int
}

func newBuffers(size, most int) *buffers {
	return &buffers{most: most, pool: sync.Pool{New: func() any {
		buf := make([]byte, 0, size)
		return &buf
	}}}
}

func (b *buffers) get() *[]byte { return b.pool.Get().(*[]byte) }

// free returns an unused buffer.
func (b *buffers) free(p *[]byte) {
	if cap(*p) <= b.most {
		*p = (*p)[:0]
		b.pool.Put(p)
	}
}
