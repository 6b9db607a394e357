package serve_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	"google.golang.org/protobuf/proto"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestTurnedOnInOpenAPI2: versions that the configuration turns on are in the one document of the second version
// of OpenAPI, each member once and with all that it refers to, in JSON as in the binary form.
func TestTurnedOnInOpenAPI2(t *testing.T) {
	t.Parallel()
	for release, paths := range map[string][]string{
		"1.25": {"/apis/networking.k8s.io/v1alpha1/clustercidrs", "/apis/internal.apiserver.k8s.io/"},
		"1.36": {"/apis/certificates.k8s.io/v1beta1/clustertrustbundles", "/apis/resource.k8s.io/v1beta2/deviceclasses", "/apis/internal.apiserver.k8s.io/"},
	} {
		t.Run(release, func(t *testing.T) {
			usual := harness.Start(t, emulating(release)).Get("/openapi/v2")
			h := harness.Start(t, func(c *server.Config) {
				emulating(release, "api/alpha=true", "api/beta=true")(c)
				c.FeatureGates = []string{"AllAlpha=true", "AllBeta=true"}
			})
			got := h.Get("/openapi/v2")
			got.Expect(t, http.StatusOK, "")
			if got.Header.Get("Etag") == usual.Header.Get("Etag") {
				t.Errorf("both have the tag %s", got.Header.Get("Etag"))
			}
			members := map[string]map[string]bool{"paths": namesOnce(t, got.Body, "paths"), "definitions": namesOnce(t, got.Body, "definitions")}
			for _, path := range paths {
				if !members["paths"][path] || strings.Contains(string(usual.Body), `"`+path+`"`) {
					t.Errorf("%s: found %v", path, members["paths"][path])
				}
			}
			for _, found := range regexp.MustCompile(`"#/definitions/([^"]+)"`).FindAllSubmatch(got.Body, -1) {
				if name := string(found[1]); !members["definitions"][name] {
					t.Fatalf("the definition of %s is missing", name)
				}
			}
			form := h.Send(http.MethodGet, "/openapi/v2", "", nil, "Accept", api.BinaryAccept)
			form.Expect(t, http.StatusOK, "")
			var doc openapi_v2.Document
			if err := proto.Unmarshal(form.Body, &doc); err != nil {
				t.Fatal(err)
			}
			for _, p := range doc.Paths.Path {
				if !members["paths"][p.Name] {
					t.Errorf("%s is in the binary form alone, or twice", p.Name)
				}
				delete(members["paths"], p.Name)
			}
			for _, d := range doc.Definitions.AdditionalProperties {
				if !members["definitions"][d.Name] {
					t.Errorf("%s is in the binary form alone, or twice", d.Name)
				}
				delete(members["definitions"], d.Name)
			}
			if left := len(members["paths"]) + len(members["definitions"]); left > 0 {
				t.Errorf("the binary form lacks %v", members)
			}
		})
	}
}

// namesOnce are the members of a section of a document. One that is there twice fails the test.
func namesOnce(t *testing.T, text []byte, section string) map[string]bool {
	t.Helper()
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	all, d := map[string]bool{}, json.NewDecoder(strings.NewReader(string(doc[section])))
	if _, err := d.Token(); err != nil {
		t.Fatal(err)
	}
	for d.More() {
		name, err := d.Token()
		var value json.RawMessage
		if err == nil {
			err = d.Decode(&value)
		}
		if err != nil {
			t.Fatal(err)
		}
		if all[name.(string)] {
			t.Errorf("%s has %s twice", section, name)
		}
		all[name.(string)] = true
	}
	return all
}
