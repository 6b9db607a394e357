// Package gen makes random requests from the resources' schemas and a table of valid values.
package gen

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"embed"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/capstan-dev/capstan/tools/differ/api"
)

//go:embed data/*.yaml
var files embed.FS

// tables is the embedded data.
type tables struct {
	bases  map[string][]map[string]any
	values map[string][]any
	extras extras
}

type extras struct {
	Status          map[string][]map[string]any `json:"status"`
	Strings         []any                       `json:"strings"`
	Numbers         []any                       `json:"numbers"`
	Quantities      []any                       `json:"quantities"`
	Names           []any                       `json:"names"`
	Labels          []any                       `json:"labels"`
	Annotations     []any                       `json:"annotations"`
	Finalizers      []any                       `json:"finalizers"`
	OwnerReferences []any                       `json:"ownerReferences"`
}

func loadTables() (*tables, error) {
	t := &tables{bases: map[string][]map[string]any{}}
	csr, err := signingRequest()
	if err != nil {
		return nil, err
	}
	cert, err := trustedCertificate()
	if err != nil {
		return nil, err
	}
	for _, f := range []string{"bases1.yaml", "bases2.yaml", "bases3.yaml"} {
		b, err := files.ReadFile("data/" + f)
		if err != nil {
			return nil, err
		}
		m := map[string][]map[string]any{}
		if err := yaml.Unmarshal([]byte(strings.NewReplacer("${CSR}", csr, "${CERT}", cert).Replace(string(b))), &m); err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		for k, v := range m {
			t.bases[k] = v
		}
	}
	for f, into := range map[string]any{"values.yaml": &t.values, "extras.yaml": &t.extras} {
		b, err := files.ReadFile("data/" + f)
		if err != nil {
			return nil, err
		}
		if err := yaml.Unmarshal(b, into); err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
	}
	return t, nil
}

// signingRequest makes a certificate request that is the same in every run.
func signingRequest() (string, error) {
	key := ed25519.NewKeyFromSeed([]byte("a fixed seed of 32 bytes for csr"))
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{
		Subject: pkix.Name{CommonName: "someone", Organization: []string{"org"}}}, key)
	if err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})), nil
}

// trustedCertificate makes a certificate in PEM, as one line of a quoted text in YAML, that is the same in every run.
func trustedCertificate() (string, error) {
	key := ed25519.NewKeyFromSeed([]byte("a fixed seed of 32 bytes for csr"))
	t := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return "", err
	}
	return strings.ReplaceAll(string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), "\n", "\\n"), nil
}

// basesOf finds the valid objects of a resource.
func (t *tables) basesOf(r *api.Resource) []map[string]any {
	if b, ok := t.bases[r.ID()]; ok {
		return b
	}
	return t.bases[r.Short()]
}

// valid finds the table's alternatives for a field: by type and field, by field, by the field's type.
func (t *tables) valid(parent, field string, s *api.Schema) ([]any, bool) {
	for _, k := range []string{parent + "." + field, "." + field} {
		if v, ok := t.values[k]; ok && fits(v, s) {
			return v, true
		}
	}
	if s != nil && s.Type != "" {
		if v, ok := t.values[s.Type]; ok {
			return v, true
		}
	}
	return nil, false
}

// fits reports whether the first alternative is of the schema's type, since fields of one
// name differ between types.
func fits(alternatives []any, s *api.Schema) bool {
	if len(alternatives) == 0 {
		return true
	}
	switch alternatives[0].(type) {
	case string:
		k := s.Kind()
		return k == "string" || k == "int-or-string" || k == "quantity"
	case float64, int64:
		k := s.Kind()
		return k == "integer" || k == "number" || k == "int-or-string"
	case bool:
		return s.Kind() == "boolean"
	case []any:
		return s.Kind() == "array"
	case map[string]any:
		k := s.Kind()
		return k == "object" || k == "map" || k == "any"
	}
	return false
}
