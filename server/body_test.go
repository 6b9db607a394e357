package server

import (
	"os"
	"testing"

	"github.com/capstan-dev/capstan/internal/document"
)

func BenchmarkApplyBody(b *testing.B) {
	yaml, err := os.ReadFile("../schemas/examples/valid/core/v1/Pod-web.yaml")
	if err != nil {
		b.Fatal(err)
	}
	inJSON, _, err := document.FromYAML(yaml)
	if err != nil {
		b.Fatal(err)
	}
	for name, text := range map[string][]byte{"yaml": yaml, "json": inJSON} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := fromYAML(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
