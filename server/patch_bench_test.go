package server

import (
	"fmt"
	"net/http"
	"testing"
)

// BenchmarkPatchStatus measures the patch by which the agent of a node says that a pod runs, from the route to the answer.
func BenchmarkPatchStatus(b *testing.B) {
	s := startQuiet(b)
	const pods = "/api/v1/namespaces/default/pods"
	const count = 100
	for i := range count {
		s.deliver(b, http.MethodPost, pods, "application/json", string(benchPod(fmt.Sprintf("o-%d", i))))
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.deliver(b, http.MethodPatch, fmt.Sprintf("%s/o-%d/status", pods, i%count), "application/strategic-merge-patch+json",
			fmt.Sprintf(`{"status":{"phase":"Running","podIP":"10.0.%d.%d","hostIP":"10.1.2.3","startTime":"2026-01-02T03:04:05Z","conditions":[`+
				`{"type":"Initialized","status":"True","lastTransitionTime":"2026-01-02T03:04:05Z"},{"type":"Ready","status":"True","lastTransitionTime":"2026-01-02T03:04:05Z"},`+
				`{"type":"ContainersReady","status":"True","lastTransitionTime":"2026-01-02T03:04:05Z"}],"containerStatuses":[`+
				`{"image":"registry.example.com/app:v1","imageID":"","name":"main","ready":true,"restartCount":0,"state":{"running":{"startedAt":"2026-01-02T03:04:05Z"}}},`+
				`{"image":"registry.example.com/proxy:v1","imageID":"","name":"sidecar","ready":true,"restartCount":0,"state":{"running":{"startedAt":"2026-01-02T03:04:05Z"}}}]}}`, i/count%250, i%250))
	}
}
