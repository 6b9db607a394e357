package request

import (
	"os"
	"testing"

	"github.com/capstan-dev/capstan/internal/yaml"
)

func BenchmarkApplyBody(b *testing.B) {
	inYAML, err := os.ReadFile("../schemas/examples/valid/core/v1/Pod-web.yaml")
	if err != nil {
		b.Fatal(err)
	}
	inJSON, err := yaml.ToJSON(inYAML)
	if err != nil {
		b.Fatal(err)
	}
	for name, text := range map[string][]byte{"yaml": inYAML, "json": inJSON} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := FromYAML(text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
