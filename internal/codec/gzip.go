package codec

import (
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// Gzip compresses what is written to w. Close writes the end of the stream and
// gives the compressor's memory back (it needs more than a megabyte); the
// writer must not be used after that, and Close must be called in any case.
func Gzip(w io.Writer) io.WriteCloser {
	z, ok := compressors.Get().(*gzip.Writer)
	if !ok {
		// The level is valid, which is the only thing that can be wrong.
		z, _ = gzip.NewWriterLevel(w, gzip.BestSpeed)
		return &pooledGzip{z}
	}
	z.Reset(w)
	return &pooledGzip{z}
}

var compressors sync.Pool // of *gzip.Writer

type pooledGzip struct{ z *gzip.Writer }

func (g *pooledGzip) Write(p []byte) (int, error) {
	if g.z == nil {
		return 0, io.ErrClosedPipe
	}
	return g.z.Write(p)
}

// Close finishes the stream. A second call does nothing.
func (g *pooledGzip) Close() error {
	if g.z == nil {
		return nil
	}
	z := g.z
	g.z = nil
	err := z.Close()
	z.Reset(io.Discard) // hold no reference to the request
	compressors.Put(z)
	return err
}
