package document

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func readPod(tb testing.TB) []byte {
	tb.Helper()
	pod, err := os.ReadFile("testdata/pod.json")
	if err != nil {
		tb.Fatal(err)
	}
	return pod
}

// sortedPod is the pod as kubectl sends it: keys in order, white space between.
func sortedPod(tb testing.TB) []byte {
	tb.Helper()
	var v any
	if err := json.Unmarshal(readPod(tb), &v); err != nil {
		tb.Fatal(err)
	}
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

func benchmarkDecode(b *testing.B, pod []byte) {
	t := podTable(b)
	dec := Decoder{Table: t}
	typ := t.Root("Pod")
	b.SetBytes(int64(len(pod)))
	b.ReportAllocs()
	for b.Loop() {
		d, _, err := dec.Decode(typ, pod)
		if err != nil {
			b.Fatal(err)
		}
		d.Release()
	}
}

func BenchmarkDecode(b *testing.B)       { benchmarkDecode(b, readPod(b)) }
func BenchmarkDecodeSorted(b *testing.B) { benchmarkDecode(b, sortedPod(b)) }

// BenchmarkTokens is the floor of a walk on top of jsontext, for comparison.
func BenchmarkTokens(b *testing.B) {
	pod := readPod(b)
	b.SetBytes(int64(len(pod)))
	b.ReportAllocs()
	src := bytes.NewReader(nil)
	dec := jsontext.NewDecoder(src)
	for b.Loop() {
		src.Reset(pod)
		dec.Reset(src)
		for {
			if _, err := dec.ReadToken(); err == io.EOF {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkDecodeAny(b *testing.B) {
	pod := readPod(b)
	b.SetBytes(int64(len(pod)))
	b.ReportAllocs()
	for b.Loop() {
		d, err := DecodeAny(pod, Limits{})
		if err != nil {
			b.Fatal(err)
		}
		d.Release()
	}
}

func BenchmarkReadStored(b *testing.B) {
	t, pod := podTable(b), readPod(b)
	b.SetBytes(int64(len(pod)))
	b.ReportAllocs()
	for b.Loop() {
		d, err := ReadStored(t, t.Root("Pod"), pod)
		if err != nil {
			b.Fatal(err)
		}
		if !d.Root().At("status", "phase").Exists() {
			b.Fatal("no phase")
		}
		d.Release()
	}
}

// BenchmarkDecodeOver reads a whole pod of which one field of the status has
// changed.
func BenchmarkDecodeOver(b *testing.B) {
	t, pod := podTable(b), readPod(b)
	d, err := ReadStored(t, t.Root("Pod"), pod)
	if err != nil {
		b.Fatal(err)
	}
	d.Root().Get("status").SetString("phase", "Failed")
	body := d.Root().AppendJSON(nil)
	dec := Decoder{Table: t}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		old, err := ReadStored(t, t.Root("Pod"), pod)
		if err != nil {
			b.Fatal(err)
		}
		now, _, err := dec.DecodeOver(old.Root(), t.Root("Pod"), body)
		if err != nil {
			b.Fatal(err)
		}
		old.Release()
		now.Release()
	}
}

func BenchmarkAppendJSON(b *testing.B) {
	t, pod := podTable(b), readPod(b)
	d, err := ReadStored(t, t.Root("Pod"), pod)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	var dst []byte
	for b.Loop() {
		dst = d.Root().AppendJSON(dst[:0])
	}
}

func BenchmarkAppendJSONChanged(b *testing.B) {
	t, pod := podTable(b), readPod(b)
	d, err := ReadStored(t, t.Root("Pod"), pod)
	if err != nil {
		b.Fatal(err)
	}
	d.Root().Get("metadata").SetString("resourceVersion", "123457")
	d.Root().Get("status").SetString("phase", "Failed")
	b.ReportAllocs()
	var dst []byte
	for b.Loop() {
		dst = d.Root().AppendJSON(dst[:0])
	}
}

func BenchmarkFind(b *testing.B) {
	pod := readPod(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := Find(pod, "spec", "nodeName"); !ok {
			b.Fatal("not found")
		}
	}
}

func BenchmarkValidate(b *testing.B) {
	t, pod := podTable(b), readPod(b)
	d, _, err := (&Decoder{Table: t}).Decode(t.Root("Pod"), pod)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if causes := Validate(d.Root(), nil); len(causes) > 0 {
			b.Fatal(causes)
		}
	}
}
