package request

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/codec"
	"github.com/capstan-dev/capstan/server/internal/options"
)

// gzipSize is the size from which an answer is compressed when the client
// accepts it, in bytes.
const gzipSize = 128 << 10

// AcceptsGzip reports whether the client names gzip, and not with a weight of zero.
func (r *Request) AcceptsGzip() bool {
	if !r.Features[options.Compression] {
		return false
	}
	for _, header := range r.HTTP.Header["Accept-Encoding"] {
		for coding := range strings.SplitSeq(header, ",") {
			name, parameter, _ := strings.Cut(coding, ";")
			if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
				continue
			}
			key, weight, _ := strings.Cut(strings.ReplaceAll(parameter, " ", ""), "=")
			return !strings.EqualFold(key, "q") || strings.Trim(weight, "0.") != ""
		}
	}
	return false
}

// GzipPays reports whether an answer of a size is compressed for clients that accept it.
func GzipPays(size int) bool { return size >= gzipSize }

// SendPacked writes a whole answer that is in the form of gzip, which the client accepts.
func (r *Request) SendPacked(code int, contentType, packed string) error {
	h := r.Writer.Header()
	h.Set("Content-Encoding", "gzip")
	h.Add("Vary", "Accept-Encoding")
	h.Set("Content-Length", strconv.Itoa(len(packed)))
	r.Head(code, contentType)
	if r.HTTP.Method == http.MethodHead {
		return nil
	}
	return r.Corked(func() error { return r.Write([]byte(packed)) })
}

func (r *Request) sendGzip(code int, contentType string, parts [][]byte) error {
	h := r.Writer.Header()
	h.Set("Content-Encoding", "gzip")
	h.Add("Vary", "Accept-Encoding")
	r.Head(code, contentType)
	z := codec.Gzip(WriterFunc(r.WriteBytes))
	for _, p := range parts {
		if _, err := z.Write(p); err != nil {
			return err
		}
	}
	return z.Close()
}
