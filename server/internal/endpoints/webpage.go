package endpoints

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"net/url"
	"slices"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// linking are the attributes whose values are URLs, by element. URLs in style sheets and
// scripts stay.
var linking = map[atom.Atom][]string{
	atom.A: {"href"}, atom.Applet: {"codebase"}, atom.Area: {"href"}, atom.Audio: {"src"}, atom.Base: {"href"}, atom.Blockquote: {"cite"},
	atom.Body: {"background"}, atom.Button: {"formaction"}, atom.Command: {"icon"}, atom.Del: {"cite"}, atom.Embed: {"src"}, atom.Form: {"action"},
	atom.Frame: {"longdesc", "src"}, atom.Head: {"profile"}, atom.Html: {"manifest"}, atom.Iframe: {"longdesc", "src"},
	atom.Img: {"longdesc", "src", "usemap"}, atom.Input: {"src", "usemap", "formaction"}, atom.Ins: {"cite"}, atom.Link: {"href"},
	atom.Object: {"classid", "codebase", "data", "usemap"}, atom.Q: {"cite"}, atom.Script: {"src"}, atom.Source: {"src"}, atom.Video: {"poster", "src"},
}

// maxPageToken bounds the memory for one tag or text of a page. What comes after a longer one is
// not rewritten.
const maxPageToken = 1 << 20

// relinkedPage is a page in UTF-8 with other links. The function changes a link in place, and
// reports whether it did.
type relinkedPage struct {
	from   io.Reader
	tokens *html.Tokenizer
	relink func(*url.URL) bool
	ready  []byte // rewritten, not read yet
	rest   io.Reader
}

// relinkPage rewrites the links of a page.
func relinkPage(page io.Reader, relink func(*url.URL) bool) *relinkedPage {
	r := &relinkedPage{from: page, tokens: html.NewTokenizer(page), relink: relink}
	r.tokens.SetMaxBuf(maxPageToken)
	return r
}

// Read implements io.Reader.
func (r *relinkedPage) Read(p []byte) (n int, err error) {
	for len(r.ready) == 0 && r.rest == nil {
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	if len(r.ready) == 0 {
		return r.rest.Read(p)
	}
	n = copy(p, r.ready)
	r.ready = r.ready[n:]
	return n, nil
}

// next rewrites the next tag or text.
func (r *relinkedPage) next() error {
	kind := r.tokens.Next()
	r.ready = append(r.ready[:0], r.tokens.Raw()...)
	switch kind {
	case html.StartTagToken, html.SelfClosingTagToken:
		tag, changed := r.tokens.Token(), false
		for i, a := range tag.Attr {
			if !slices.Contains(linking[tag.DataAtom], a.Key) {
				continue
			}
			if link, err := url.Parse(a.Val); err == nil && r.relink(link) {
				tag.Attr[i].Val, changed = link.String(), true
			}
		}
		if changed {
			r.ready = append(r.ready[:0], tag.String()...)
		}
	case html.ErrorToken:
		err := r.tokens.Err()
		switch {
		case errors.Is(err, html.ErrBufferExceeded):
			r.ready, r.rest = append(r.ready, r.tokens.Buffered()...), r.from
		case len(r.ready) == 0 || !errors.Is(err, io.EOF):
			return err
		default:
			r.rest = r.from // at its end
		}
	}
	return nil
}

// decodedPage reads a body in a content encoding; false for one that is not known.
func decodedPage(body io.Reader, encoding string) (io.Reader, bool) {
	switch encoding {
	case "":
		return body, true
	case "gzip":
		return &lazily{open: func() (io.Reader, error) { return gzip.NewReader(body) }}, true
	case "deflate":
		return &lazily{open: func() (io.Reader, error) {
			in := bufio.NewReader(body)
			// Some servers leave out the head that RFC 9110 asks for.
			if head, err := in.Peek(2); err != nil || head[0]&15 != 8 || (int(head[0])<<8|int(head[1]))%31 != 0 {
				return flate.NewReader(in), nil
			}
			return zlib.NewReader(in)
		}}, true
	}
	return nil, false
}

// lazily is a reader that is opened by its first use: opening reads.
type lazily struct {
	open func() (io.Reader, error)
	r    io.Reader
}

func (l *lazily) Read(p []byte) (n int, err error) {
	if l.r == nil {
		if l.r, err = l.open(); err != nil {
			return 0, err
		}
	}
	return l.r.Read(p)
}
