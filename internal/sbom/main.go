// Command sbom prints the modules of a Go binary, as the Go tool recorded them in the
// binary, in the form of CycloneDX 1.5 (https://cyclonedx.org). It uses no network, and
// prints the same for the same binary every time.
//
//	go run ./internal/sbom bin/capstan v0.3.0 > capstan.cdx.json
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: sbom BINARY VERSION")
		os.Exit(2)
	}
	if err := write(os.Stdout, os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// bill is a document of CycloneDX, with the fields used here.
type bill struct {
	Format      string      `json:"bomFormat"`
	SpecVersion string      `json:"specVersion"`
	Serial      string      `json:"serialNumber"`
	Version     int         `json:"version"`
	Metadata    metadata    `json:"metadata"`
	Components  []component `json:"components"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version,omitempty"`
	PURL       string     `json:"purl,omitempty"` // https://github.com/package-url/purl-spec
	Hashes     []hash     `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"` // hexadecimal
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// write prints the bill of the binary in a file, which has that version.
func write(w io.Writer, path, version string) error {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(billOf(info, filepath.Base(path), version, sum[:]))
}

// billOf lists the modules in a binary with that name, version and SHA-256.
func billOf(info *buildinfo.BuildInfo, name, version string, sum []byte) bill {
	whole := component{Type: "application", Ref: name, Name: name, Version: version, Hashes: []hash{{"SHA-256", hex.EncodeToString(sum)}}}
	whole.Properties = append(whole.Properties, property{"go:path", info.Path})
	for _, s := range info.Settings {
		whole.Properties = append(whole.Properties, property{"go:build:" + s.Key, s.Value})
	}
	b := bill{Format: "CycloneDX", SpecVersion: "1.5", Serial: serial(sum), Version: 1, Metadata: metadata{whole}}
	release, _, _ := strings.Cut(strings.TrimPrefix(info.GoVersion, "go"), " ")
	b.Components = append(b.Components, component{Type: "library", Ref: "std", Name: "std", Version: release, PURL: "pkg:golang/std@" + release})
	for _, m := range info.Deps {
		b.Components = append(b.Components, library(m))
	}
	slices.SortFunc(b.Components[1:], func(a, b component) int { return strings.Compare(a.Ref, b.Ref) })
	return b
}

// serial is the serial number of the bill: a UUID (RFC 9562, version 8) derived from the
// binary's sum.
func serial(sum []byte) string {
	var id [16]byte
	copy(id[:], sum)
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// library is the component of a module, or of its replacement.
func library(m *debug.Module) component {
	if m.Replace != nil {
		m = m.Replace
	}
	purl := "pkg:golang/" + m.Path + "@" + m.Version
	c := component{Type: "library", Ref: purl, Name: m.Path, Version: m.Version, PURL: purl}
	// The sum in go.sum: the SHA-256 of a list of the module's files and their sums.
	if raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:")); err == nil && len(raw) == sha256.Size {
		c.Hashes = []hash{{"SHA-256", hex.EncodeToString(raw)}}
	}
	return c
}
