package patch

import (
	"fmt"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/document"
)

// benchObject is as large and as nested as a pod of 5 KB.
func benchObject() []byte {
	var b strings.Builder
	b.WriteString(`{"name":"web-5d4f8c7b9-x2x4z","count":3,"labels":{"app":"web","app.kubernetes.io/name":"web","pod-template-hash":"5d4f8c7b9"},"item":{"name":"spec","labels":{"a":"b"},"set":["x","y"]},"items":[`)
	for i := range 4 {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"name":"container-%d","value":"registry.example.com/team/image:v1.2.3","labels":{`, i)
		for j := range 12 {
			if j > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `"ENVIRONMENT_VARIABLE_%d":"some value of a variable %d"`, j, j)
		}
		b.WriteString(`},"ports":[{"port":80,"protocol":"TCP"},{"port":443,"protocol":"TCP"}]}`)
	}
	b.WriteString(`],"any":{"f:metadata":{"f:labels":{".":{},"f:app":{},"f:pod-template-hash":{}},"f:ownerReferences":{".":{}}},"f:spec":{`)
	for i := range 40 {
		fmt.Fprintf(&b, `"f:field%d":{".":{}},`, i)
	}
	b.WriteString(`"f:last":{}}}}`)
	return []byte(b.String())
}

func BenchmarkPatch(b *testing.B) {
	current := benchObject()
	table := testTable()
	for _, bench := range []struct {
		name, patch string
		apply       func(patch []byte) ([]byte, error)
	}{
		{"merge", `{"labels":{"app":null,"version":"2"},"count":4,"item":{"labels":{"c":"d"}}}`,
			func(patch []byte) ([]byte, error) { return Merge(current, patch, document.Limits{}) }},
		{"strategic", `{"labels":{"version":"2"},"$setElementOrder/items":[{"name":"container-0"},{"name":"container-1"},{"name":"container-2"},{"name":"container-3"}],"items":[{"name":"container-1","value":"registry.example.com/team/image:v2","$setElementOrder/ports":[{"port":80},{"port":8080}],"ports":[{"port":8080,"protocol":"TCP"},{"port":443,"$patch":"delete"}]}]}`,
			func(patch []byte) ([]byte, error) {
				return Strategic(current, patch, table, rootType, document.Limits{}, nil)
			}},
		{"json", `[{"op":"test","path":"/count","value":3},{"op":"replace","path":"/items/1/value","value":"x"},{"op":"add","path":"/labels/version","value":"2"}]`,
			func(patch []byte) ([]byte, error) { return JSON(current, patch, document.Limits{}, nil) }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(current)))
			for b.Loop() {
				if _, err := bench.apply([]byte(bench.patch)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
