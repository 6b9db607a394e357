package endpoints

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
)

// below moves links from the root.
func below(u *url.URL) bool {
	if u.Host != "" || !strings.HasPrefix(u.Path, "/") {
		return false
	}
	u.Path = "/p" + u.Path
	return true
}

func TestRelink(t *testing.T) {
	long := strings.Repeat("x", 2*maxPageToken)
	for page, want := range map[string]string{
		"":                   "",
		"text & <b>more</b>": "text & <b>more</b>",
		`<a href="/x?a=b&amp;c=d#e">x</a><a href='/y'>`:   `<a href="/p/x?a=b&amp;c=d#e">x</a><a href="/p/y">`,
		`<A HREF=/x CLASS=y>`:                             `<a href="/p/x" class="y">`,
		`<a HREF="x"   Class=y ><img src=//h/x>`:          `<a HREF="x"   Class=y ><img src=//h/x>`,
		`<a href="https://h/x">`:                          `<a href="https://h/x">`,
		`<a href="javascript:go('/x')"><a href="%zz/x">`:  `<a href="javascript:go('/x')"><a href="%zz/x">`,
		`<img src=/a longdesc=/b alt=/c />`:               `<img src="/p/a" longdesc="/p/b" alt="/c"/>`,
		`<p href="/x"><form action="/f"><input src="/i">`: `<p href="/x"><form action="/p/f"><input src="/p/i">`,
		`<script src="/s">if (a < b) "<a href='/x'>"</script><style>a{background:url(/x)}</style>`: `<script src="/p/s">if (a < b) "<a href='/x'>"</script><style>a{background:url(/x)}</style>`,
		`<!doctype html><!-- <a href="/x"> --><base href="/">`:                                     `<!doctype html><!-- <a href="/x"> --><base href="/p/">`,
		`<a href="/x`:                                    `<a href="/x`,
		"<p>a\x00\xff<a href=/x>":                        "<p>a\x00\xff<a href=\"/p/x\">",
		"<a href=/x>" + long + "<a href=/y>":             `<a href="/p/x">` + long + "<a href=/y>",
		`<a href=/x><a title="` + long + `"><a href=/y>`: `<a href="/p/x"><a title="` + long + `"><a href=/y>`,
	} {
		for name, in := range map[string]io.Reader{"whole": strings.NewReader(page), "by the byte": iotest.OneByteReader(strings.NewReader(page))} {
			if name == "by the byte" && len(page) > maxPageToken {
				continue
			}
			got, err := io.ReadAll(relinkPage(in, below))
			if err != nil || string(got) != want {
				t.Errorf("%s: %.200q, %v\n%.200q: want %.200q (%d bytes, want %d)", name, page, err, got, want, len(got), len(want))
			}
		}
	}
	broken := iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("<a href=/x>")))
	if _, err := io.ReadAll(relinkPage(broken, below)); err != iotest.ErrTimeout {
		t.Errorf("a broken connection: %v", err)
	}
}

func TestDecoded(t *testing.T) {
	var zipped, deflated, headless bytes.Buffer
	raw, _ := flate.NewWriter(&headless, 6)
	for _, w := range []io.WriteCloser{gzip.NewWriter(&zipped), zlib.NewWriter(&deflated), raw} {
		_, _ = io.WriteString(w, "<p>page")
		_ = w.Close()
	}
	for name, c := range map[string]struct {
		encoding, body string
		fails          bool
	}{"plain": {"", "<p>page", false}, "gzip": {"gzip", zipped.String(), false}, "deflate": {"deflate", deflated.String(), false}, "without a head": {"deflate", headless.String(), false},
		"not gzip": {"gzip", "<p>page", true}, "cut": {"gzip", zipped.String()[:20], true}} {
		r, known := decodedPage(strings.NewReader(c.body), c.encoding)
		got, err := io.ReadAll(r)
		if !known || (err != nil) != c.fails || !c.fails && string(got) != "<p>page" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, known := decodedPage(nil, "br"); known {
		t.Error("brotli is known")
	}
}

func FuzzRelink(f *testing.F) {
	f.Add(`<a href="/x">y</a><!--`)
	f.Fuzz(func(t *testing.T, page string) {
		got, err := io.ReadAll(relinkPage(strings.NewReader(page), func(*url.URL) bool { return false }))
		if err != nil || string(got) != page {
			t.Errorf("%q became %q, %v", page, got, err)
		}
	})
}
