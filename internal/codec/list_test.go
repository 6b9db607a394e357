package codec

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/capstan-dev/capstan/internal/api"
)

func TestListHead(t *testing.T) {
	remaining := int64(3)
	got := string(AppendListHead(nil, "v1", "PodList", ListMeta{ResourceVersion: "5"}))
	if want := `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"5"},"items":[`; got != want {
		t.Errorf("got %s", got)
	}
	got = string(AppendListHead(nil, "apps/v1", "XList", ListMeta{ResourceVersion: "5", Continue: "c", Remaining: &remaining}))
	if want := `{"kind":"XList","apiVersion":"apps/v1","metadata":{"resourceVersion":"5","continue":"c","remainingItemCount":3},"items":[`; got != want {
		t.Errorf("got %s", got)
	}
	if got, want := ItemPrefix("v1", "Pod"), `{"kind":"Pod","apiVersion":"v1",`; got != want {
		t.Errorf("got %s", got)
	}
}

func TestBinaryList(t *testing.T) {
	remaining := int64(3)
	got := AppendBinaryListMeta(nil, ListMeta{ResourceVersion: "5", Continue: "c", Remaining: &remaining})
	got, err := AppendBinaryItem(got, func(dst []byte) ([]byte, error) { return append(dst, "item"...), nil })
	if err != nil {
		t.Fatal(err)
	}
	if want := "0a0a" + "0a00" + "120135" + "1a0163" + "2003" + "12046974656d"; hex.EncodeToString(got) != want {
		t.Errorf("got %x", got)
	}
	wrong := errors.New("wrong")
	if _, err := AppendBinaryItem(nil, func(dst []byte) ([]byte, error) { return dst, wrong }); !errors.Is(err, wrong) {
		t.Errorf("error %v", err)
	}
}

// TestSealed: an object sealed in a reused buffer is the message in its envelope, also
// where lengths take more bytes.
func TestSealed(t *testing.T) {
	var buf []byte
	for _, kind := range []string{"Pod", strings.Repeat("K", 200)} {
		for _, size := range []int{0, 1, 127, 128, 20_000, 16_384, 3 << 20, 5} {
			message := bytes.Repeat([]byte{byte(size)}, size)
			object, grown, err := Sealed(buf, "example.com/v1", kind, func(dst []byte) ([]byte, error) { return append(dst, message...), nil })
			if want := AppendEnvelope(nil, "example.com/v1", kind, message); err != nil || !bytes.Equal(object, want) {
				t.Fatalf("a message of %d bytes: %v, %d bytes, want %d", size, err, len(object), len(want))
			}
			buf = grown
		}
	}
	wrong := errors.New("wrong")
	if _, _, err := Sealed(buf, "v1", "Pod", func(dst []byte) ([]byte, error) { return dst, wrong }); !errors.Is(err, wrong) {
		t.Errorf("error %v", err)
	}
}

func TestEnvelope(t *testing.T) {
	// A config map as a client sent it.
	const sent = "azhzAAoPCgJ2MRIJQ29uZmlnTWFwEg4KBAoCcGISBgoBaxIBdhoAIgA="
	data, err := base64.StdEncoding.DecodeString(sent)
	if err != nil {
		t.Fatal(err)
	}
	apiVersion, kind, message, err := OpenEnvelope(data)
	if err != nil || apiVersion != "v1" || kind != "ConfigMap" || hex.EncodeToString(message) != "0a040a0270621206"+"0a016b120176" {
		t.Fatalf("%q %q %x %v", apiVersion, kind, message, err)
	}
	if got := AppendEnvelope(nil, apiVersion, kind, message); !bytes.Equal(got, data) {
		t.Errorf("got %x", got)
	}
	parts := append(EnvelopeHead(apiVersion, kind, len(message)), message...)
	if got := append(parts, EnvelopeTail()...); !bytes.Equal(got, data) {
		t.Errorf("got %x in parts", got)
	}
	for name, wrong := range map[string]string{
		"nothing":        "",
		"no prefix":      "\x0a\x02v1",
		"prefix only":    "k8s\x00",
		"cut off":        string(data[:len(data)-3]),
		"encoded":        string(append(bytes.Clone(data[:len(data)-4]), "\x1a\x04gzip"...)),
		"JSON inside":    string(append(bytes.Clone(data[:len(data)-2]), "\x22\x10application/json"...)),
		"bad wire type":  "k8s\x00\x0f",
		"number is zero": "k8s\x00\x02\x00",
	} {
		if _, _, _, err := OpenEnvelope([]byte(wrong)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestFrames(t *testing.T) {
	if got, want := string(AppendFrame([]byte("x"), "ADDED", []byte(`{"a":1}`))), "x"+`{"type":"ADDED","object":{"a":1}}`+"\n"; got != want {
		t.Errorf("got %s", got)
	}
	message := bytes.Repeat([]byte("m"), 300)
	envelope := AppendEnvelope(nil, "v1", "Pod", message)
	got := AppendBinaryFrame([]byte("x"), "ADDED", "v1", "Pod", message)
	if got[0] != 'x' || hex.EncodeToString(got[1:5]) != "0000014f" || len(got)-5 != 0x14f {
		t.Fatalf("got %x", got[:20])
	}
	var event string
	var object []byte
	err := EachBytesField(got[5:], func(number uint32, v []byte) error {
		if number == 1 {
			event = string(v)
			return nil
		}
		return EachBytesField(v, func(_ uint32, v []byte) error {
			object = v
			return nil
		})
	})
	if err != nil || event != "ADDED" || !bytes.Equal(object, envelope) {
		t.Errorf("%v %s %x", err, event, object)
	}
}

func TestPartial(t *testing.T) {
	got, err := AppendPartial([]byte("x"), []byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","labels":{"metadata":"}"}},"spec":{}}`), "meta.k8s.io/v1")
	if want := `x{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","labels":{"metadata":"}"}}}`; err != nil || string(got) != want {
		t.Errorf("%s %v", got, err)
	}
	if _, err := AppendPartial(nil, []byte(`{"kind":"Pod"}`), "meta.k8s.io/v1"); err == nil {
		t.Error("an object without metadata was accepted")
	}
}

func TestStatus(t *testing.T) {
	pods := api.GroupResource{Resource: "pods"}
	for _, c := range []struct {
		status StatusBody
		want   string
	}{
		{Status(api.NotFound(pods, "x")), `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"pods \"x\" not found","reason":"NotFound","details":{"name":"x","kind":"pods"},"code":404}`},
		{Status(api.BadRequest("no")), `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"no","reason":"BadRequest","code":400}`},
		{Status(api.UnknownPath()), `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the server could not find the requested resource","reason":"NotFound","details":{},"code":404}`},
		{Status(&api.Error{Code: 504, HasDetails: true, Group: "apps", UID: "u", RetryAfter: 2, Causes: []api.Cause{{Reason: "R", Message: "{", Field: "spec"}, {Message: "second"}}}),
			`{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","details":{"group":"apps","uid":"u","causes":[{"reason":"R","message":"{","field":"spec"},{"message":"second"}],"retryAfterSeconds":2},"code":504}`},
		{Deleted("apps", "deployments", "d", "u"), `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","details":{"name":"d","group":"apps","kind":"deployments","uid":"u"}}`},
	} {
		if got := string(c.status.JSON()); got != c.want {
			t.Errorf(" got %s\nwant %s", got, c.want)
		}
	}
}

func TestText(t *testing.T) {
	if got := string(Indent([]byte(`{"a":[1,{}],"b":"<"}`))); got != "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": \"<\"\n}" {
		t.Errorf("got %s", got)
	}
	got, err := ToYAML([]byte(`{"b":["x"],"a":{"c":"1","d":null}}`))
	if err != nil || string(got) != "a:\n  c: \"1\"\n  d: null\nb:\n- x\n" {
		t.Errorf("%v\n%s", err, got)
	}
}

func TestGzip(t *testing.T) {
	for range 3 { // the second and third reuse the first's memory
		var out bytes.Buffer
		z := Gzip(&out)
		text := strings.Repeat("a long text ", 10000)
		for _, part := range []string{text[:7], text[7:]} {
			if _, err := z.Write([]byte(part)); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(z.Close(), z.Close()); err != nil {
			t.Fatal(err)
		}
		if _, err := z.Write([]byte("x")); err == nil {
			t.Error("a closed writer takes more")
		}
		r, err := gzip.NewReader(&out)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || string(got) != text {
			t.Fatalf("%d bytes came back: %v", len(got), err)
		}
	}
}
