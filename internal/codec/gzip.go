package codec

import (
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// Gzip returns a writer that compresses to w. Close writes the end of the stream and
// releases the compressor's memory, more than a megabyte; it must always be called, and
// the writer must not be used after it.
func Gzip(w io.Writer) io.WriteCloser {
	z, ok := compressors.Get().(*gzip.Writer)
	if !ok {
		// The only possible error is an invalid level.
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

// Close finishes the stream. A second call has no effect.
func (g *pooledGzip) Close() error {
	if g.z == nil {
		return nil
	}
	z := g.z
	g.z = nil
	err := z.Close()
	z.Reset(io.Discard) // so that it does not hold the request
	compressors.Put(z)
	return err
}
