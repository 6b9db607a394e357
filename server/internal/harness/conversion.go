package harness

import (
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// ConversionHook is a conversion webhook for gauges: v1 has spec.host and spec.port,
// v1beta1 has both in spec.address. v2 is v1 with another name for the port.
type ConversionHook struct {
	*httptest.Server
	Calls, objects atomic.Int64
	Connections    atomic.Int64
	does           atomic.Pointer[func(w http.ResponseWriter, r *http.Request) bool] // before the answer; true instead of it
	alters         atomic.Pointer[func(review map[string]any)]                       // the answer
	Version        atomic.Pointer[string]                                            // of the last review
}

// NewConversionHook starts a webhook that converts gauges.
func NewConversionHook(t *testing.T) *ConversionHook {
	t.Helper()
	h := &ConversionHook{}
	h.Server = httptest.NewUnstartedServer(http.HandlerFunc(h.serve))
	h.Config.ErrorLog = log.New(io.Discard, "", 0)
	h.EnableHTTP2 = true
	h.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			h.Connections.Add(1)
		case http.StateClosed:
			h.Connections.Add(-1)
		}
	}
	h.StartTLS()
	t.Cleanup(h.Close)
	return h
}

// CABundle is the authority of the webhook's certificate, as a definition has it.
func (h *ConversionHook) CABundle() string {
	return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw}))
}

// Do has a function answer requests where it returns true.
func (h *ConversionHook) Do(f func(w http.ResponseWriter, r *http.Request) bool) { h.does.Store(&f) }

// Alter has a function change the answers.
func (h *ConversionHook) Alter(f func(review map[string]any)) { h.alters.Store(&f) }

// Behave ends what Do and Alter began.
func (h *ConversionHook) Behave() { h.does.Store(nil); h.alters.Store(nil) }

func (h *ConversionHook) serve(w http.ResponseWriter, r *http.Request) {
	h.Calls.Add(1)
	if do := h.does.Load(); do != nil && (*do)(w, r) {
		return
	}
	var review map[string]any
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	version := review["apiVersion"].(string)
	h.Version.Store(&version)
	request := review["request"].(map[string]any)
	var made []any
	for _, o := range request["objects"].([]any) {
		made = append(made, turned(o.(map[string]any), request["desiredAPIVersion"].(string)))
	}
	h.objects.Add(int64(len(made)))
	review["response"] = map[string]any{"uid": request["uid"], "convertedObjects": made, "result": map[string]any{"status": "Success"}}
	delete(review, "request")
	if alter := h.alters.Load(); alter != nil {
		(*alter)(review)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(review)
}

// turned is a gauge in another version.
func turned(obj map[string]any, to string) map[string]any {
	obj["apiVersion"] = to
	spec, _ := obj["spec"].(map[string]any)
	if spec == nil {
		return obj
	}
	host, port := spec["host"], spec["port"]
	if host == nil {
		host = ""
	}
	if n, ok := spec["number"]; ok {
		port = n
	}
	if address, ok := spec["address"].(string); ok {
		before, after, _ := strings.Cut(address, ":")
		host, port = before, after
	}
	for _, name := range []string{"host", "port", "number", "address"} {
		delete(spec, name)
	}
	switch _, version, _ := strings.Cut(to, "/"); version {
	case "v1":
		spec["host"], spec["port"] = host, port
	case "v2":
		spec["host"], spec["number"] = host, port
	default:
		spec["address"] = fmt.Sprint(host, ":", port)
	}
	for name, v := range spec {
		if v == nil || v == "" {
			delete(spec, name)
		}
	}
	return obj
}

// GaugesV1, GaugesBeta and GaugesV2 are the collection of gauges in each version.
const GaugesV1 = "/apis/lab.example.com/v1/namespaces/default/gauges"

const GaugesBeta = "/apis/lab.example.com/v1beta1/namespaces/default/gauges"

const GaugesV2 = "/apis/lab.example.com/v2/namespaces/default/gauges"

// GaugesAs is the definition of the gauges.
const GaugesAs = DefinitionsPath + "/gauges.lab.example.com"

// GaugeVersions are the versions of gauges with one of them as the storage version.
func GaugeVersions(storage string) string {
	var all []string
	members := map[string]string{"v1": `"host":{"type":"string"},"port":{"type":"string"},"unit":{"type":"string","default":"bar"}`,
		"v1beta1": `"address":{"type":"string","maxLength":20},"unit":{"type":"string"}`,
		"v2":      `"host":{"type":"string"},"number":{"type":"string"},"unit":{"type":"string"}`}
	for _, name := range []string{"v1", "v1beta1", "v2"} {
		all = append(all, fmt.Sprintf(`{"name":%[1]q,"served":true,"storage":%[2]t,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}},
			"additionalPrinterColumns":[{"name":"At","type":"string","jsonPath":".spec.%[4]s"}],"selectableFields":[{"jsonPath":".spec.%[4]s"}],
			"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"replicas":{"type":"integer"},%[3]s}},"status":{"type":"object","properties":{"replicas":{"type":"integer"}}}}}}}`,
			name, name == storage, members[name], map[string]string{"v1": "host", "v2": "host", "v1beta1": "address"}[name]))
	}
	return "[" + strings.Join(all, ",") + "]"
}

// DefineGauges serves gauges, stored in v1, with a conversion by the client config.
func (h *Server) DefineGauges(clientConfig string) {
	h.T.Helper()
	h.Create(DefinitionsPath, fmt.Sprintf(`{"metadata":{"name":"gauges.lab.example.com"},"spec":{"group":"lab.example.com","scope":"Namespaced","names":{"plural":"gauges","kind":"Gauge"},
		"conversion":{"strategy":"Webhook","webhook":{"conversionReviewVersions":["v9","v1","v1beta1"],"clientConfig":%s}},"versions":%s}}`, clientConfig, GaugeVersions("v1")))
	h.Await(DefinitionsPath, func(o Contents) bool {
		return strings.Contains(Conditions(o, "gauges.lab.example.com"), "Established=True")
	})
}

// GaugesBy defines the gauges, converted by a webhook.
func (h *Server) GaugesBy(hook *ConversionHook) {
	h.T.Helper()
	h.DefineGauges(fmt.Sprintf(`{"url":"%s/convert","caBundle":%q}`, hook.URL, hook.CABundle()))
}

// Gauge is a gauge of a version, in JSON.
func Gauge(version, name, members string) string {
	return fmt.Sprintf(`{"apiVersion":"lab.example.com/%s","kind":"Gauge","metadata":{"name":%q}%s}`, version, name, members)
}

// AwaitStorage waits until gauges are stored in a version.
func (h *Server) AwaitStorage(version string) {
	h.T.Helper()
	for end := time.Now().Add(15 * time.Second); ; time.Sleep(time.Millisecond) {
		if row := h.Running.Row("lab.example.com/"+version, "Gauge"); row != nil && row.Storage() == row {
			return
		}
		if time.Now().After(end) {
			h.T.Fatalf("gauges are not stored in %s", version)
		}
	}
}
