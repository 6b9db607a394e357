package authn

import (
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"
)

func asking(protocols ...string) *http.Request {
	return &http.Request{Header: http.Header{"Sec-Websocket-Protocol": protocols}}
}

func TestProtocols(t *testing.T) {
	const token = protocolPrefix + "c2VjcmV0" // secret
	for _, test := range []struct {
		named        []string
		token, other string
	}{
		{nil, "", ""},
		{[]string{"v1.json"}, "", "v1.json"},
		{[]string{token}, "secret", ""},
		{[]string{token + ", v1.json"}, "secret", "v1.json"},
		{[]string{"v1.json,v2.json", token}, "secret", "v1.json"},
		{[]string{" , ,v1.json"}, "", "v1.json"},
		{[]string{protocolPrefix + "c2VjcmV0cw=="}, "secrets", ""}, // with padding
		{[]string{protocolPrefix + "%%%"}, "", ""},
		{[]string{protocolPrefix + "_w"}, "", ""}, // not UTF-8
		{[]string{protocolPrefix}, "", ""},
	} {
		r := asking(test.named...)
		if token, other := ProtocolToken(r), OtherProtocol(r); token != test.token || other != test.other {
			t.Errorf("%q: token %q and %q, want %q and %q", test.named, token, other, test.token, test.other)
		}
	}
}

func FuzzProtocolToken(f *testing.F) {
	f.Add("v1.json, " + protocolPrefix + "c2VjcmV0")
	f.Add(protocolPrefix)
	f.Add(",,")
	f.Fuzz(func(t *testing.T, header string) {
		r := asking(header)
		if token := ProtocolToken(r); !utf8.ValidString(token) || token != "" && !strings.Contains(header, protocolPrefix) {
			t.Errorf("%q gives %q", header, token)
		}
		if other := OtherProtocol(r); strings.HasPrefix(other, protocolPrefix) || strings.ContainsAny(other, ",") {
			t.Errorf("%q gives the protocol %q, which may be a token", header, other)
		}
	})
}
