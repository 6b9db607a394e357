package main

import (
	"strings"
	"testing"
	"time"
)

// TestQuantile: a quantile lies within its bucket, by the share of the requests before it.
func TestQuantile(t *testing.T) {
	before := series{`host="a",verb="GET",le="0.1"`: 10, `host="a",verb="GET",le="1"`: 10, `host="a",verb="GET",le="+Inf"`: 10}
	after := series{`host="a",verb="GET",le="0.1"`: 60, `host="a",verb="GET",le="1"`: 110, `host="a",verb="GET",le="+Inf"`: 110}
	found := latenciesOf(before, after)["GET"]
	if found.Requests != 100 || found.P50 != 0.1 || found.P99 < 0.98 || found.P99 > 1 {
		t.Errorf("%+v", found)
	}
	if idle := latenciesOf(after, after); len(idle) != 0 {
		t.Errorf("latencies of no requests: %v", idle)
	}
}

// TestCounts: requests of the server's metrics have the names that profiles give them.
func TestCounts(t *testing.T) {
	labels := `code="200",component="apiserver",dry_run="",group="apps",resource="deployments",scope="resource",subresource="status",verb="PATCH",version="v1"`
	spent := map[string]time.Duration{"PATCH deployments.apps/status": 6 * time.Millisecond, "WATCH pods": time.Second}
	all := countsOf("start", series{labels: 1}, series{labels: 4, `group="",resource="pods",subresource="",verb="LIST"`: 2}, spent)
	var names []string
	for _, n := range all {
		names = append(names, n.request)
	}
	if got := strings.Join(names, ", "); got != "WATCH pods, PATCH deployments.apps/status, LIST pods" || all[1].requests != 3 {
		t.Errorf("%s: %+v", got, all)
	}
}

// TestLife: the life of a pod has all requests about the pod, with the name that the server has chosen.
func TestLife(t *testing.T) {
	const log = `{"verb":"create","userAgent":"kwok/0.8","objectRef":{"resource":"events","apiGroup":"events.k8s.io"},"requestReceivedTimestamp":"2026-01-01T00:00:02Z","stageTimestamp":"2026-01-01T00:00:02.001Z","requestObject":{"regarding":{"name":"p-1"}}}
{"verb":"create","userAgent":"kube-controller-manager/v1","objectRef":{"resource":"pods"},"requestReceivedTimestamp":"2026-01-01T00:00:00Z","stageTimestamp":"2026-01-01T00:00:00.002Z","responseObject":{"metadata":{"name":"p-1"}}}
{"verb":"patch","userAgent":"kwok/0.8","objectRef":{"resource":"pods","subresource":"status","name":"p-1"},"requestReceivedTimestamp":"2026-01-01T00:00:01Z","stageTimestamp":"2026-01-01T00:00:01.004Z"}
{"verb":"delete","userAgent":"a<b/1","objectRef":{"resource":"pods","name":"p-1"},"requestReceivedTimestamp":"2026-01-01T00:00:03Z","stageTimestamp":"2026-01-01T00:00:03.004Z"}
{"verb":"create","objectRef":{"resource":"pods"},"requestReceivedTimestamp":"2026-01-01T00:00:00Z","stageTimestamp":"2026-01-01T00:00:00.002Z","responseObject":{"metadata":{"name":"p-2"}}}`
	all, err := lives(strings.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	life, err := usualLife(all)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range life {
		names = append(names, life[i].request())
	}
	if got := strings.Join(names, ", "); got != "POST pods, PATCH pods/status, POST events.events.k8s.io, DELETE pods" {
		t.Error(got)
	}
	svg := string(lifeFigure(life, []count{{"", "PATCH pods/status", 2, time.Millisecond}, {"", "PATCH pods/status", 2, time.Millisecond}}))
	for _, want := range []string{"kube-controller-manager: POST pods", "4.0 ms; 500 µs", "a&lt;b: DELETE"} {
		if !strings.Contains(svg, want) {
			t.Errorf("%s is missing in %s", want, svg)
		}
	}
	if _, err := usualLife(map[string][]auditEvent{"p-2": all["p-2"]}); err == nil {
		t.Error("a pod without an end has a life")
	}
}

// TestTable: the figures of the other servers have their ratios to those of the first.
func TestTable(t *testing.T) {
	of := func(kind string, cpu time.Duration, peak int64) measured {
		m := measured{Kind: kind}
		for _, name := range []string{"nodes join", "pods start", "they roll over"} {
			m.Phases = append(m.Phases, phase{Name: name, CPU: cpu, Wall: time.Second, Peak: peak, Latency: latencies{"GET": {10, 0.001, 0.01}}})
		}
		return m
	}
	all := []measured{of("capstan", 2*time.Second, 100<<20), of("reference", 7*time.Second, 500<<20)}
	table := tableOf(&settings{nodes: 3, pods: 9}, all)
	for _, want := range []string{"3 nodes, 9 pods", "| pods start | 2.00 s, 1.0 s | 7.00 s, 1.0 s | 3.5 |", "| memory, peak | 100 MiB | 500 MiB | 5.0 |", "| GET | 1.0, 10.0 (10) | 1.0, 10.0 (10) |"} {
		if !strings.Contains(table, want) {
			t.Errorf("%q is missing in\n%s", want, table)
		}
	}
	if svg := string(figureOf(all)); !strings.Contains(svg, "7.00 s") {
		t.Errorf("%s", svg)
	}
}
