package binary

import (
	"bytes"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestEncode(t *testing.T) {
	body, err := Encode([]byte(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"},"nonsense":1}`))
	if err != nil {
		t.Fatal(err)
	}
	raw, found := bytes.CutPrefix(body, prefix)
	var envelope runtime.Unknown
	if err := envelope.Unmarshal(raw); err != nil || !found {
		t.Fatalf("prefix %v, %v", found, err)
	}
	var got corev1.ConfigMap
	if err := got.Unmarshal(envelope.Raw); err != nil || got.Name != "a" || got.Data["k"] != "v" || envelope.Kind != "ConfigMap" {
		t.Errorf("%v %v %v", envelope.TypeMeta, got, err)
	}
}

func TestWhatHasNoBinaryFormIsRefused(t *testing.T) {
	for _, object := range []string{``, `7`, `{"apiVersion":"v1","kind":"Nothing"}`, `{"apiVersion":"v1","kind":"ConfigMap","data":7}`, `{"apiVersion":"a/b/c","kind":"Pod"}`} {
		if body, err := Encode([]byte(object)); err == nil {
			t.Errorf("%s became %q", object, body)
		}
	}
}
