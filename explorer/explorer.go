// Package explorer holds the page of the explorer, which `make explorer` builds from the
// sources in this folder.
package explorer

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"io/fs"
	"path"
	"strings"
	"sync"
)

//go:embed dist
var dist embed.FS

// Index is the name of the page itself.
const Index = "index.html"

// Page is the files of the page. It keeps nothing in memory before the first request for a file.
type Page struct{ files map[string]*File }

// File is one file of the page.
type File struct {
	Type   string // media type
	name   string
	packed func() packed
}

// packed is the form of a file that most answers have, and its tag.
type packed struct{ tag, text string }

// Open lists the files of the page.
func Open() *Page {
	p := &Page{files: map[string]*File{}}
	_ = fs.WalkDir(dist, "dist", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			f := &File{Type: mediaType(name), name: name}
			f.packed = sync.OnceValue(f.pack)
			p.files[strings.TrimPrefix(name, "dist/")] = f
		}
		return err // none, of embedded files
	})
	return p
}

// Find returns the file of a name; nil for none. "" is the page itself.
func (p *Page) Find(name string) *File {
	if name == "" {
		name = Index
	}
	return p.files[name]
}

// Tag is the entity tag of the content, in quotes.
func (f *File) Tag() string { return f.packed().tag }

// Packed is the content in the form of gzip.
func (f *File) Packed() string { return f.packed().text }

// Text is the content.
func (f *File) Text() []byte {
	text, _ := dist.ReadFile(f.name) // embedded: it was listed
	return text
}

func (f *File) pack() packed {
	text := f.Text()
	sum := sha256.Sum256(text)
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
	_, _ = z.Write(text)                                  // memory takes all
	_ = z.Close()
	return packed{tag: `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`, text: b.String()}
}

// mediaTypes are those of the page's files. They do not depend on the files of the machine,
// which the package mime reads.
var mediaTypes = map[string]string{
	".css": "text/css; charset=utf-8", ".html": "text/html; charset=utf-8", ".ico": "image/x-icon", ".js": "text/javascript; charset=utf-8",
	".json": "application/json", ".png": "image/png", ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8", ".woff2": "font/woff2",
}

func mediaType(name string) string {
	if t := mediaTypes[path.Ext(name)]; t != "" {
		return t
	}
	return "application/octet-stream"
}
