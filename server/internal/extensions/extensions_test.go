package extensions

import (
	"errors"
	"fmt"
	"net"
	"testing"
)

const sample = `{"paths":{"/version/":{"get":{"schema":{"$ref":"#/definitions/Info"}}},"/apis/g/v1":{"get":{}},"/apis/g/v1/a":{"get":{"schema":{"$ref":"#/definitions/A"}}},
	"/apis/g/v1beta1/a":{"get":{"schema":{"$ref":"#/definitions/B"}}}},
	"definitions":{"Info":{},"A":{"properties":{"next":{"$ref":"#/definitions/A"},"meta":[{"$ref":"#/definitions/Meta"}],"gone":{"$ref":"#/definitions/Gone"}}},"B":{},"Meta":{"x":1}}}`

func TestPartOf(t *testing.T) {
	for _, c := range []struct{ text, prefix, want string }{
		{sample, "/apis/g/v1/", `{"definitions":{"A":{"properties":{"next":{"$ref":"#/definitions/A"},"meta":[{"$ref":"#/definitions/Meta"}],"gone":{"$ref":"#/definitions/Gone"}}},"Meta":{"x":1}},` +
			`"paths":{"/apis/g/v1":{"get":{}},"/apis/g/v1/a":{"get":{"schema":{"$ref":"#/definitions/A"}}}}}`},
		{sample, "/apis/other/v1/", ""},
		{"garbage", "/apis/g/v1/", ""},
		{`{"paths":[]}`, "/apis/g/v1/", ""},
		{"null", "/apis/g/v1/", ""},
	} {
		if got := string(partOf([]byte(c.text), c.prefix)); got != c.want {
			t.Errorf("%s of %.20s:\ngot  %s\nwant %s", c.prefix, c.text, got, c.want)
		}
	}
}

func FuzzPartOf(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte(`{"paths":{"/apis/g/v1/a":null},"definitions":null}`))
	f.Fuzz(func(_ *testing.T, text []byte) { partOf(text, "/apis/g/v1/") })
}

func TestEscapeHeader(t *testing.T) {
	for text, want := range map[string]string{"scopes": "scopes", "example.com/a b": "example.com%2Fa%20b", "50%": "50%25", "ü": "%C3%BC", "": ""} {
		if got := escapeHeader(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestLasting: the text of an error is the same each time.
func TestLasting(t *testing.T) {
	err := fmt.Errorf("get: %w", &net.OpError{Op: "read", Net: "tcp", Source: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 41234}, Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 443}, Err: errors.New("reset")})
	if got := lasting(err); got != "get: read tcp 127.0.0.1:443: reset" {
		t.Error(got)
	}
}
