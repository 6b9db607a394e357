package metrics_test

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	trace "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/capstan-dev/capstan/internal/tracing"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
	"github.com/capstan-dev/capstan/server/internal/seams"
)

// spanCollector is a collector of OpenTelemetry: a gRPC server.
type spanCollector struct {
	*httptest.Server
	mu    sync.Mutex
	spans []*trace.Span
	from  string // the last resource
}

func newSpanCollector(t *testing.T) *spanCollector {
	c := &spanCollector{}
	c.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var request collector.ExportTraceServiceRequest
		if err == nil && len(body) > 5 {
			err = proto.Unmarshal(body[5:], &request)
		}
		if err != nil || r.URL.Path != "/opentelemetry.proto.collector.trace.v1.TraceService/Export" || r.Header.Get("Content-Type") != "application/grpc" {
			t.Errorf("%s with %d bytes: %v", r.URL, len(body), err)
		}
		c.mu.Lock()
		for _, of := range request.ResourceSpans {
			c.from = attributesOf(of.Resource.Attributes)
			for _, in := range of.ScopeSpans {
				c.spans = append(c.spans, in.Spans...)
			}
		}
		c.mu.Unlock()
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status")
		_, _ = w.Write(make([]byte, 5)) // an empty message
		w.Header().Set("Grpc-Status", "0")
	}))
	c.Config.Protocols = new(http.Protocols)
	c.Config.Protocols.SetUnencryptedHTTP2(true)
	c.Start()
	t.Cleanup(c.Close)
	return c
}

// startTraced starts a server that sends spans to the collector.
func startTraced(t *testing.T, c *spanCollector, rate int, pauses tracing.Pauses, change func(*server.Config)) *harness.Server {
	return harness.Start(t, func(cfg *server.Config) {
		cfg.TracingConfigFile = filepath.Join(t.TempDir(), "tracing.yaml")
		text := fmt.Sprintf("apiVersion: apiserver.config.k8s.io/v1beta1\nkind: TracingConfiguration\nendpoint: %s\nsamplingRatePerMillion: %d\n", c.Listener.Addr(), rate)
		if err := os.WriteFile(cfg.TracingConfigFile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		harness.Shorten(cfg, func(d *seams.Durations) { d.Spans = pauses })
		if change != nil {
			change(cfg)
		}
	})
}

var quickSpans = tracing.Pauses{Batch: time.Millisecond, Call: 10 * time.Second, Again: time.Second, Give: time.Minute}

// all waits until a request's span has arrived, the last of its trace, and returns those of
// the trace: the other spans by name, and the request's.
func (c *spanCollector) all(t *testing.T, is func(*trace.Span) bool) (map[string]*trace.Span, *trace.Span) {
	t.Helper()
	for begin := time.Now(); time.Since(begin) < 10*time.Second; time.Sleep(time.Millisecond) {
		c.mu.Lock()
		spans := slices.Clone(c.spans)
		c.mu.Unlock()
		at := slices.IndexFunc(spans, func(s *trace.Span) bool { return s.Name == "KubernetesAPI" && is(s) })
		if at < 0 {
			continue
		}
		names := map[string]*trace.Span{}
		for _, s := range spans {
			if string(s.TraceId) == string(spans[at].TraceId) && s != spans[at] {
				names[s.Name] = s
			}
		}
		return names, spans[at]
	}
	t.Fatal("the span of the request does not arrive")
	return nil, nil
}

// attributesOf shows attributes: "a=b c=d".
func attributesOf(all []*common.KeyValue) string {
	var b strings.Builder
	for _, a := range all {
		switch v := a.Value.Value.(type) {
		case *common.AnyValue_StringValue:
			fmt.Fprintf(&b, "%s=%s ", a.Key, v.StringValue)
		case *common.AnyValue_IntValue:
			fmt.Fprintf(&b, "%s=%d ", a.Key, v.IntValue)
		}
	}
	return b.String()
}

const (
	clientTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	clientSpan  = "00f067aa0ba902b7"
	parentOf    = "00-" + clientTrace + "-" + clientSpan + "-01"
)

// The span of a request is inside of its client's, the others are inside of it, and
// webhooks get the innermost.
func TestSpansOfACreate(t *testing.T) {
	c := newSpanCollector(t)
	h := startTraced(t, c, 0, quickSpans, func(cfg *server.Config) { cfg.Audit.Log.Path = filepath.Join(t.TempDir(), "audit.log") })
	v := harness.NewMutator(t, func(string, map[string]any) string {
		return `[{"op":"add","path":"/data","value":{"a":"b"}}]`
	})
	var given string
	serve := v.Config.Handler
	v.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given = r.Header.Get("Traceparent")
		serve.ServeHTTP(w, r)
	})
	h.MutateBy(v, "all", harness.ReviewRule(`"CREATE"`, "", "v1", "configmaps"), "")
	got := h.Send("POST", harness.ConfigMaps, "", []byte(`{"metadata":{"name":"m"}}`), "Traceparent", parentOf, "Audit-Id", "an-id")
	got.Expect(t, 201, "")
	inside, whole := c.all(t, func(s *trace.Span) bool { return hex.EncodeToString(s.TraceId) == clientTrace })
	if hex.EncodeToString(whole.ParentSpanId) != clientSpan || whole.Kind != trace.Span_SPAN_KIND_SERVER {
		t.Errorf("the request: %v", whole)
	}
	for _, want := range []string{"http.method=POST ", "http.target=" + harness.ConfigMaps + " ", "http.status_code=201 ", "audit-id=an-id ", "http.route=/api/v1/namespaces/{:namespace}/configmaps ", "http.user_agent=capstan-test ", "net.peer.ip=127.0.0.1 "} {
		if text := attributesOf(whole.Attributes); !strings.Contains(text, want) {
			t.Errorf("the request lacks %s: %s", want, text)
		}
	}
	for name, in := range map[string]string{"authentication": "", "authorization": "", "Create": "", "Call mutating webhook": "Create", "HTTP POST": "Call mutating webhook", "Update store": "Create"} {
		s, outer := inside[name], whole
		if in != "" {
			outer = inside[in]
		}
		if s == nil || outer == nil || string(s.ParentSpanId) != string(outer.SpanId) {
			t.Errorf("%s is not in %s: %v", name, in, s)
		} else if s.StartTimeUnixNano < whole.StartTimeUnixNano || s.EndTimeUnixNano > whole.EndTimeUnixNano {
			t.Errorf("%s is longer than the request", name)
		}
	}
	if call := inside["HTTP POST"]; call == nil || given != "00-"+clientTrace+"-"+hex.EncodeToString(call.SpanId)+"-01" {
		t.Errorf("the webhook got %q in %v", given, call)
	}
	var events []string
	for _, e := range inside["Create"].GetEvents() {
		events = append(events, e.Name)
	}
	if want := []string{"limitedReadBody succeeded", "About to convert to expected version", "Conversion done", "About to store object in database", "Write to database call succeeded",
		"About to write a response", "Writing http response done"}; !slices.Equal(events, want) {
		t.Errorf("the events %q", events)
	}
	if text := attributesOf(inside["Call mutating webhook"].GetAttributes()); !strings.Contains(text, "configuration=all webhook=all.example.com ") || !strings.Contains(text, "operation=CREATE ") || !strings.Contains(text, "UID=") {
		t.Errorf("the call: %s", text)
	}
	if !strings.HasPrefix(c.from, "service.instance.id=kube-apiserver-") {
		t.Errorf("from %s", c.from)
	}
	h.AwaitText("/metrics", `capstan_tracing_spans_total{result="sent"} `) // counted when the collector has answered
}

// Other users cannot have their requests recorded: their spans are linked.
func TestSpansOfOthers(t *testing.T) {
	c := newSpanCollector(t)
	h := startTraced(t, c, 1e6, quickSpans, nil)
	h.Send("GET", "/api/v1/nodes", "", nil, "Traceparent", parentOf, "Authorization", "Bearer bob-token").Expect(t, 403, "")
	inside, whole := c.all(t, func(s *trace.Span) bool { return strings.Contains(attributesOf(s.Attributes), "http.status_code=403 ") })
	if hex.EncodeToString(whole.TraceId) == clientTrace || len(whole.ParentSpanId) != 0 || len(whole.Links) != 1 || hex.EncodeToString(whole.Links[0].TraceId) != clientTrace || inside["authorization"] == nil {
		t.Errorf("%v with %v", whole, inside)
	}
	h.Send("GET", "/api/v1/nodes", "", nil, "Authorization", "Bearer nobody's").Expect(t, 401, "")
	c.all(t, func(s *trace.Span) bool { return strings.Contains(attributesOf(s.Attributes), "http.status_code=401 ") })
	h.Send("GET", "/api/v1/nodes", "", nil, "Traceparent", strings.TrimSuffix(parentOf, "1")+"0")
	h.Get("/api/v1/pods")
	inside, _ = c.all(t, func(s *trace.Span) bool {
		return strings.Contains(attributesOf(s.Attributes), "http.target=/api/v1/pods ")
	})
	if list := inside["List store"]; list == nil || inside["List"] == nil || string(list.ParentSpanId) != string(inside["List"].SpanId) {
		t.Errorf("a list: %v", inside)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if hex.EncodeToString(s.TraceId) == clientTrace {
			t.Errorf("recorded against the administrator's wish: %v", s)
		}
	}
}

// Agents and extension servers get the span of the request that goes on to them; a server
// without tracing adds nothing.
func TestSpansGoOn(t *testing.T) {
	c := newSpanCollector(t)
	given := make(chan string, 10)
	show := func(w http.ResponseWriter, r *http.Request) { given <- r.Header.Get("Traceparent") }
	agent := harness.StartAgent(t, show)
	h := startTraced(t, c, 1e6, quickSpans, func(cfg *server.Config) { agent.Trust(t, cfg) })
	agent.Place(h)
	x := h.StartExtension(show)
	h.Register(x)
	plain := harness.Start(t, func(cfg *server.Config) { agent.Trust(t, cfg) })
	agent.Place(plain)
	for path, method := range map[string]string{harness.PodsPath + "/p/log": "GET", harness.Wardle + "/namespaces/default/flunders/a": "GET"} {
		h.Send(method, path, "", nil).Expect(t, 200, "")
		header := <-given
		inside, _ := c.all(t, func(s *trace.Span) bool { return strings.Contains(attributesOf(s.Attributes), "http.target="+path+" ") })
		if call := inside["HTTP GET"]; call == nil || header != "00-"+hex.EncodeToString(call.TraceId)+"-"+hex.EncodeToString(call.SpanId)+"-01" || call.Kind != trace.Span_SPAN_KIND_CLIENT {
			t.Errorf("%s: the other server got %q in %v", path, header, call)
		}
	}
	plain.Get(harness.PodsPath+"/p/log").Expect(t, 200, "")
	if header := <-given; header != "" {
		t.Errorf("without tracing the agent got %q", header)
	}
}

// Spans that wait are sent when the server stops.
func TestSpansOutliveTheServer(t *testing.T) {
	c := newSpanCollector(t)
	h := startTraced(t, c, 1e6, tracing.Pauses{Batch: time.Hour, Call: 10 * time.Second}, nil)
	h.Get("/version").Expect(t, 200, "")
	if err := h.Running.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.all(t, func(s *trace.Span) bool { return strings.Contains(attributesOf(s.Attributes), "http.target=/version ") })
}
