package outbound

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/capstan-dev/capstan/internal/api"
	generated "github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/kinds/conversion"
	"github.com/capstan-dev/capstan/server/internal/kinds/policy"
)

// services are the specs of the services in the tests, which are in the namespace shop,
// and the subsets of their endpoints, none for "".
var services = map[string]struct{ spec, subsets string }{
	"plain":    {`{"ports":[{"name":"web","port":80},{"name":"api","port":443}],"clusterIP":"10.0.0.7","type":"ClusterIP"}`, `[{"addresses":[{"ip":"10.1.0.1"}],"ports":[{"name":"web","port":8080},{"name":"api","port":8443}]}]`},
	"one":      {`{"ports":[{"port":443}],"clusterIP":"fd00::7","type":"NodePort"}`, `[{"notReadyAddresses":[{"ip":"fd01::1"}],"ports":[{"port":8443}]},{"addresses":[{"ip":"fd01::2"}],"ports":[{"port":9443}]}]`},
	"headless": {`{"ports":[{"port":443}],"clusterIP":"None","type":"ClusterIP"}`, `[{"addresses":[{"ip":"10.1.0.3"}],"ports":[{"port":443}]}]`},
	"alone":    {`{"ports":[{"port":443}],"clusterIP":"10.0.0.8","type":"ClusterIP"}`, ""},
	"waiting":  {`{"ports":[{"port":443}],"clusterIP":"10.0.0.9","type":"ClusterIP"}`, `[{"notReadyAddresses":[{"ip":"10.1.0.4"}],"ports":[{"port":443}]}]`},
	"other":    {`{"ports":[{"name":"api","port":443}],"clusterIP":"10.0.0.9","type":"ClusterIP"}`, `[{"addresses":[{"ip":"10.1.0.4"}],"ports":[{"name":"web","port":443}]}]`},
	"away":     {`{"type":"ExternalName","externalName":"api.example.com"}`, ""},
	"odd":      {`{"ports":[{"port":443}],"clusterIP":"10.0.0.9","type":"Odd"}`, ""},
	"empty":    {`{"ports":[{"port":443}],"clusterIP":"10.0.0.10","type":"ClusterIP"}`, `[]`},
}

func open(t *testing.T, byEndpoint bool) *Backends {
	s, err := store.Open(store.Config{Dir: "data", FS: vfs.NewMem()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	c := catalog.New(generated.New(policy.New(time.Now), conversion.Hooks{}), generated.Meta())
	b, err := OpenBackends(t.Context(), BackendsConfig{Store: s, Catalog: c, Logger: slog.New(slog.DiscardHandler), ByEndpoint: byEndpoint, Self: "127.0.0.1:6443"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	put := func(row *catalog.Row, name, format string, args ...any) {
		body := fmt.Sprintf(`{"kind":%q,"apiVersion":"v1","metadata":{"name":%q,"namespace":"shop"},`, row.Kind, name) + fmt.Sprintf(format, args...) + "}"
		_, err := s.Update(context.Background(), row.Key("shop", name), func(*store.Entry) (store.Write, error) {
			return store.Write{Op: store.OpCreate, Value: store.Value{Body: []byte(body), RevisionAt: -1}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, of := range services { // after Open: the newest state is known
		put(b.of, name, `"spec":%s`, of.spec)
		if of.subsets != "" {
			put(b.at, name, `"subsets":%s`, of.subsets)
		}
	}
	return b
}

func TestResolve(t *testing.T) {
	cluster, endpoint := open(t, false), open(t, true)
	for _, c := range []struct {
		name              string
		port              int32
		cluster, endpoint string
		code              int // of the error of endpoint
	}{
		{"plain", 443, "10.0.0.7:443", "10.1.0.1:8443", 0},
		{"plain", 80, "10.0.0.7:80", "10.1.0.1:8080", 0},
		{"plain", 81, `no service port 81 found for service "plain"`, `no service port 81 found for service "plain"`, 503},
		{"one", 443, "[fd00::7]:443", "[fd01::2]:9443", 0},
		{"headless", 443, `cannot route to service with ClusterIP "None"`, "10.1.0.3:443", 0},
		{"alone", 443, "10.0.0.8:443", `endpoints "alone" not found`, 404},
		{"waiting", 443, "10.0.0.9:443", `no endpoints available for service "waiting"`, 503},
		{"other", 443, "10.0.0.9:443", `no endpoints available for service "other"`, 503},
		{"empty", 443, "10.0.0.10:443", `no endpoints available for service "empty"`, 503},
		{"away", 8443, "api.example.com:8443", `unsupported service type "ExternalName"`, 0},
		{"odd", 443, `unsupported service type "Odd"`, `unsupported service type "Odd"`, 0},
		{"gone", 443, `service "gone" not found`, `service "gone" not found`, 404},
	} {
		for b, want := range map[*Backends]string{cluster: c.cluster, endpoint: c.endpoint} {
			got, err := b.Resolve(t.Context(), "shop", c.name, c.port)
			if err != nil {
				got = err.Error()
			}
			if got != want {
				t.Errorf("%s:%d by endpoint %v: %s, want %s", c.name, c.port, b.cfg.ByEndpoint, got, want)
			}
			var known *api.Error
			if errors.As(err, &known) && b == endpoint && known.Code != c.code {
				t.Errorf("%s:%d: %d, want %d", c.name, c.port, known.Code, c.code)
			}
		}
	}
	for port, want := range map[int32]string{443: "127.0.0.1:6443", 80: ""} {
		if got, _ := cluster.Resolve(t.Context(), "default", "kubernetes", port); got != want {
			t.Errorf("own service, port %d: %q, want %q", port, got, want)
		}
	}
}

func TestMissing(t *testing.T) {
	b := open(t, false)
	for name, want := range map[string]string{
		"plain":   "",
		"gone":    `ServiceNotFound: service/gone in "shop" is not present`,
		"odd":     "",
		"away":    "",
		"alone":   `EndpointsNotFound: cannot find endpoints for service/alone in "shop"`,
		"waiting": `MissingEndpoints: endpoints for service/waiting in "shop" have no addresses with port name ""`,
		"other":   `MissingEndpoints: endpoints for service/other in "shop" have no addresses with port name "api"`,
	} {
		reason, message := b.Missing("shop", name, 443)
		if got := strings.TrimSuffix(reason+": "+message, ": "); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if reason, message := b.Missing("shop", "plain", 8443); reason != "ServicePortError" || message != `service/plain in "shop" is not listening on port 8443` {
		t.Error(reason, message)
	}
}
