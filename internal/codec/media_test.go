package codec

import (
	"errors"
	"testing"

	"github.com/capstan-dev/capstan/internal/api"
)

const binaryType = "application/vnd.kubernetes.protobuf"

func TestNegotiate(t *testing.T) {
	object := Offer{Binary: binaryType, MetaGroup: "meta.k8s.io", Table: true, Partial: true}
	custom := Offer{MetaGroup: "meta.k8s.io", Table: true, Partial: true}
	watch := Offer{Binary: binaryType, MetaGroup: "meta.k8s.io", Table: true, Partial: true, Watch: true}
	discovery := Offer{Binary: binaryType, MetaGroup: "meta.k8s.io"}
	const meta = ";g=meta.k8s.io;v=v1"
	for _, c := range []struct {
		name, accept string
		offer        Offer
		contentType  string
		as           As
		apiVersion   string
		pretty       bool
		refused      bool // 406
	}{
		{"nothing asked", "", object, mediaJSON, AsObject, "", false, false},
		{"JSON", "application/json", object, mediaJSON, AsObject, "", false, false},
		{"JSON with a charset", "application/json; charset=utf-8", object, mediaJSON, AsObject, "", false, false},
		{"anything", "*/*", object, mediaJSON, AsObject, "", false, false},
		{"any application", "application/*", object, mediaJSON, AsObject, "", false, false},
		{"a browser", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", object, mediaJSON, AsObject, "", false, false},
		{"YAML", "application/yaml", object, mediaYAML, AsObject, "", false, false},
		{"binary", binaryType, object, binaryType, AsObject, "", false, false},
		{"letters of any case", "Application/JSON", object, mediaJSON, AsObject, "", false, false},
		{"the first of equals", binaryType + ",application/json", object, binaryType, AsObject, "", false, false},
		{"quality decides", binaryType + ";q=0.5, application/json;q=0.7, application/yaml;q=0.6", object, mediaJSON, AsObject, "", false, false},
		{"quality zero is not acceptable", "application/json;q=0", object, mediaJSON, AsObject, "", false, true},
		{"quality zero, else anything", "application/json;q=0,application/yaml", object, mediaYAML, AsObject, "", false, false},
		{"a name goes before a star", "*/*,application/yaml", object, mediaYAML, AsObject, "", false, false},
		{"what is not offered is passed over", binaryType + ",application/json", custom, mediaJSON, AsObject, "", false, false},
		{"only what is not offered", binaryType, custom, mediaJSON, AsObject, "", false, true},
		{"unknown type", "text/csv", object, mediaJSON, AsObject, "", false, true},
		{"nonsense", ";;,,", object, mediaJSON, AsObject, "", false, true},
		{"pretty", "application/json;pretty=1", object, mediaJSON, AsObject, "", true, false},
		{"not pretty", "application/json;pretty=0", object, mediaJSON, AsObject, "", false, false},
		{"table", "application/json;as=Table" + meta, object, mediaJSON, AsTable, "meta.k8s.io/v1", false, false},
		{"table of a list", "application/json;as=Table" + meta, object, mediaJSON, AsTable, "meta.k8s.io/v1", false, false},
		{"old table", "application/json;as=Table;g=meta.k8s.io;v=v1beta1", object, mediaJSON, AsTable, "meta.k8s.io/v1beta1", false, false},
		{"table in YAML", "application/yaml;as=Table" + meta, object, mediaYAML, AsTable, "meta.k8s.io/v1", false, false},
		{"table in binary", binaryType + ";as=Table" + meta, object, binaryType, AsObject, "", false, true},
		{"no representation", "application/json;as=", object, mediaJSON, AsObject, "", false, false},
		{"table, else JSON", "application/json;as=Table" + meta + ",application/json", discovery, mediaJSON, AsObject, "", false, false},
		{"table of what has none", "application/json;as=Table" + meta, discovery, mediaJSON, AsObject, "", false, true},
		{"table of another group", "application/json;as=Table;g=other;v=v1", object, mediaJSON, AsObject, "", false, true},
		{"table of another version", "application/json;as=Table;g=meta.k8s.io;v=v2", object, mediaJSON, AsObject, "", false, true},
		{"kubectl", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json", object, mediaJSON, AsTable, "meta.k8s.io/v1", false, false},
		{"unknown representation", "application/json;as=Picture" + meta, object, mediaJSON, AsObject, "", false, true},
		{"partial", "application/json;as=PartialObjectMetadata" + meta, object, mediaJSON, AsPartial, "meta.k8s.io/v1", false, false},
		{"partial in binary", binaryType + ";as=PartialObjectMetadata" + meta, object, binaryType, AsPartial, "meta.k8s.io/v1", false, false},
		{"partial list", "application/json;as=PartialObjectMetadataList" + meta, object, mediaJSON, AsPartial, "meta.k8s.io/v1", false, false},
		{"partial list of a watch", "application/json;as=PartialObjectMetadataList" + meta, watch, mediaJSON, AsObject, "", false, true},
		{"binary form of another profile", "application/vnd.other.protobuf", object, mediaJSON, AsObject, "", false, true},
		{"watch", "application/json;stream=watch", watch, mediaJSON, AsObject, "", false, false},
		{"binary watch", binaryType, watch, binaryType + ";stream=watch", AsObject, "", false, false},
		{"binary watch asked as a stream", binaryType + ";stream=watch", watch, binaryType + ";stream=watch", AsObject, "", false, false},
		{"YAML watch", "application/yaml", watch, mediaYAML, AsObject, "", false, true},
		{"unknown stream", "application/json;stream=river", watch, mediaJSON, AsObject, "", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := Negotiate(c.accept, c.offer)
			var known *api.Error
			if refused := errors.As(err, &known) && known.Code == 406; refused != c.refused || !refused && err != nil {
				t.Fatalf("error %v", err)
			}
			if m.ContentType() != c.contentType || m.As != c.as || m.APIVersion != c.apiVersion || m.Pretty != c.pretty {
				t.Errorf("got %s %+v", m.ContentType(), m)
			}
		})
	}
}

func TestErrorForm(t *testing.T) {
	for accept, want := range map[string]string{
		"": mediaJSON, "text/csv": mediaJSON, mediaYAML: mediaYAML, binaryType: binaryType, "*/*": mediaJSON,
		"application/yaml;as=Table;g=meta.k8s.io;v=v1":              mediaJSON,
		"application/json;as=Table;g=meta.k8s.io;v=v1," + mediaYAML: mediaYAML,
		"application/yaml;stream=river":                             mediaJSON,
	} {
		if got := ErrorForm(accept, false).ContentType(); got != want {
			t.Errorf("%q: %s, want %s", accept, got, want)
		}
	}
}

func TestParseContentType(t *testing.T) {
	for _, c := range []struct {
		header string
		want   Format // 0 for 415
	}{
		{"", JSON},
		{"application/json", JSON},
		{"application/json; charset=utf-8", JSON},
		{"application/yaml", YAML},
		{binaryType, Binary},
		{"application/vnd.other.protobuf", 0},
		{"application/merge-patch+json", 0},
		{"text/plain", 0},
		{"/", 0},
	} {
		got, err := ParseContentType(c.header, binaryType, false)
		var known *api.Error
		if got != c.want || (err == nil) != (c.want != 0) || err != nil && !(errors.As(err, &known) && known.Code == 415) {
			t.Errorf("%q: %v %v", c.header, got, err)
		}
	}
	if _, err := ParseContentType(binaryType, "", false); err == nil {
		t.Error("the binary form was read where it is not offered")
	}
}

func FuzzNegotiate(f *testing.F) {
	f.Add("application/json;as=Table;v=v1;g=meta.k8s.io,*/*;q=0.1")
	f.Add(`a/b;c="d;e",;=,`)
	f.Fuzz(func(t *testing.T, accept string) {
		m, err := Negotiate(accept, Offer{Binary: binaryType, MetaGroup: "meta.k8s.io", Table: true})
		if m.Format == 0 && err == nil || ErrorForm(accept, false).Format == 0 {
			t.Fatalf("%q: %+v %v", accept, m, err)
		}
		_, _ = ParseContentType(accept, binaryType, false)
	})
}
