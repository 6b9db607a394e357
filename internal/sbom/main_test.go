package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
)

func TestBillOf(t *testing.T) {
	info := &buildinfo.BuildInfo{GoVersion: "go1.26.8 X:none", Path: "example.com/capstan", Deps: []*debug.Module{
		{Path: "example.com/b", Version: "v1.0.0", Sum: "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="},
		{Path: "example.com/a", Version: "v2.0.0", Replace: &debug.Module{Path: "example.com/fork", Version: "v3.0.0"}},
	}, Settings: []debug.BuildSetting{{Key: "CGO_ENABLED", Value: "0"}}}
	got, err := json.Marshal(billOf(info, "capstan", "v0.3.0", []byte{0xab}))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"bomFormat":"CycloneDX","specVersion":"1.5","serialNumber":"urn:uuid:ab000000-0000-8000-8000-000000000000","version":1,"metadata":{"component":{"type":"application","bom-ref":"capstan","name":"capstan","version":"v0.3.0",` +
		`"hashes":[{"alg":"SHA-256","content":"ab"}],"properties":[{"name":"go:path","value":"example.com/capstan"},{"name":"go:build:CGO_ENABLED","value":"0"}]}},"components":[` +
		`{"type":"library","bom-ref":"std","name":"std","version":"1.26.8","purl":"pkg:golang/std@1.26.8"},` +
		`{"type":"library","bom-ref":"pkg:golang/example.com/b@v1.0.0","name":"example.com/b","version":"v1.0.0","purl":"pkg:golang/example.com/b@v1.0.0",` +
		`"hashes":[{"alg":"SHA-256","content":"0000000000000000000000000000000000000000000000000000000000000000"}]},` +
		`{"type":"library","bom-ref":"pkg:golang/example.com/fork@v3.0.0","name":"example.com/fork","version":"v3.0.0","purl":"pkg:golang/example.com/fork@v3.0.0"}]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestWrite(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var first, second bytes.Buffer
	if err := write(&first, self, "v1"); err != nil {
		t.Fatal(err)
	}
	if err := write(&second, self, "v1"); err != nil || first.String() != second.String() {
		t.Errorf("the second bill is another: %v", err)
	}
	if !json.Valid(first.Bytes()) || !strings.Contains(first.String(), "pkg:golang/std@") {
		t.Errorf("%s", &first)
	}
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write(&first, text, "v1"); err == nil {
		t.Error("a text is no binary")
	}
}
