package registry

import "testing"

// BenchmarkPod measures both ways of a pod with two containers.
func BenchmarkPod(b *testing.B) {
	form := New(everyKind(b))
	objects, _ := recordings(b)
	for _, r := range objects {
		if r.Key != "core/pods/default/web" {
			continue
		}
		v, err := form.Decode(r.Key, r.Value)
		if err != nil {
			b.Fatal(err)
		}
		b.Logf("%d bytes in etcd, %d in the store", len(r.Value), len(v.Body))
		b.Run("Encode", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := form.Encode(r.Key, v); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("Decode", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := form.Decode(r.Key, r.Value); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
