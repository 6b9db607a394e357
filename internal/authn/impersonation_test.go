package authn

import (
	"errors"
	"net/http"
	"testing"

	"github.com/capstan-dev/capstan/internal/api"
)

func TestRefuseImpersonation(t *testing.T) {
	for _, c := range []struct {
		headers []string // names and values
		code    int      // 0: let through
	}{
		{nil, 0},
		{[]string{"Accept", "application/json", "Impersonate", "bob", "X-Impersonate-User", "bob"}, 0},
		{[]string{"Impersonate-User", "bob"}, 403},
		{[]string{"IMPERSONATE-USER", "bob"}, 403},
		{[]string{"impersonate-user", ""}, 403},
		{[]string{"Impersonate-User", "bob", "Impersonate-Group", "dev", "Impersonate-Uid", "7", "Impersonate-Extra-Scopes", "view"}, 403},
		{[]string{"Impersonate-Group", "system:masters"}, 400},
		{[]string{"Impersonate-Group", ""}, 400},
		{[]string{"Impersonate-Uid", "7"}, 400},
		{[]string{"impersonate-extra-example.com%2fteam", "a"}, 400},
		{[]string{"Impersonate-User", "", "Impersonate-Extra-Scopes", "view"}, 400},
		{[]string{"Impersonate-Later", "x", "Impersonate-User", "bob"}, 403},
	} {
		h := http.Header{}
		for i := 0; i < len(c.headers); i += 2 {
			h.Add(c.headers[i], c.headers[i+1])
		}
		code := 0
		if err := RefuseImpersonation(h); err != nil {
			var status *api.Error
			if !errors.As(err, &status) {
				t.Fatalf("%q: %v", c.headers, err)
			}
			code = status.Code
		}
		if code != c.code {
			t.Errorf("%q: %d, want %d", c.headers, code, c.code)
		}
	}
}

func BenchmarkRefuseImpersonation(b *testing.B) {
	h := http.Header{"Accept": {"application/json"}, "Authorization": {"Bearer x"}, "User-Agent": {"kubectl"}, "Accept-Encoding": {"gzip"}, "Content-Type": {"application/json"}}
	b.ReportAllocs()
	for b.Loop() {
		if err := RefuseImpersonation(h); err != nil {
			b.Fatal(err)
		}
	}
}
