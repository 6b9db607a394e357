package document

import (
	"strings"
	"testing"
)

// FuzzWellFormed: a string that wellFormed accepts passes the check.
func FuzzWellFormed(f *testing.F) {
	for _, s := range []string{"", "a", "A", "1", "-", ".", "..", "..a", "a.b", "a-.b", "a.-b", "a..b", "a--b", "a/b", "a/", "/b", "a/b/c", "a_b", "_a", "A.b/C_d", "a%b", "é", "a\n", "1a", "a1",
		strings.Repeat("a", 16), strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a", 253), strings.Repeat("a", 254)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, name := range Formats() {
			if problems := formats[name](s); wellFormed(name, s) && len(problems) > 0 {
				t.Errorf("%s of %q is taken, but %v", name, s, problems)
			}
		}
	})
}

// TestWellFormed: usual names are accepted without regular expressions.
func TestWellFormed(t *testing.T) {
	for name, good := range map[string][]string{
		"dns1123-label":     {"web-1", "0a", strings.Repeat("a", 63)},
		"dns1123-subdomain": {"web-1", "a.b-c.d", "registry.example.com", strings.Repeat("a", 253)},
		"dns1035-label":     {"web-1"},
		"qualified-name":    {"app", "app.kubernetes.io/part-of", "pod-template-hash", "A_b.C"},
		"label-value":       {"", "5d59d67564", "A_b.C-d"},
		"config-key":        {"config.yaml", "_x", "-"},
		"env-var-name":      {"SETTING_1", "my.env-name", "_"},
		"port-name":         {"http", "http-8080", "8080a"},
	} {
		for _, s := range good {
			if !wellFormed(name, s) {
				t.Errorf("%s does not take %q", name, s)
			}
		}
	}
}

func BenchmarkCheckFormat(b *testing.B) {
	for name, s := range map[string]string{"env-var-name": "SETTING_1", "qualified-name": "app.kubernetes.io/part-of", "dns1123-subdomain": "web-5d4f8c7b9-x2x4z.example.com"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if CheckFormat(name, s) != nil {
					b.Fatal(name)
				}
			}
		})
	}
}
