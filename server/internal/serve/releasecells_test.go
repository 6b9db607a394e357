package serve_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestReleasePodCells: a table of pods shows what the release knows of gates, of init containers that always
// restart, of ended pods that are deleted, and of failures next to a completed container.
func TestReleasePodCells(t *testing.T) {
	const (
		sidecar = `"initContainers":[{"name":"s","image":"i","restartPolicy":"Always"},{"name":"a","image":"i"}],`
		started = `{"name":"s","started":true,"ready":true,"restartCount":2,"state":{"running":{}}}`
		works   = `{"name":"c","ready":true,"restartCount":1,"state":{"running":{}}}`
	)
	pods := []struct {
		name, spec, status, finalizer string
		want                          map[string]string // READY STATUS RESTARTS by release
	}{
		{"gated", `"schedulingGates":[{"name":"example.com/a"}],`, ``, ``, map[string]string{"1.25": "0/1 Pending 0", "1.27": "0/1 SchedulingGated 0", "1.36": "0/1 SchedulingGated 0"}},
		{"early", sidecar, `"initContainerStatuses":[` + started + `,{"name":"a","restartCount":1,"state":{"running":{}}}]`, ``,
			map[string]string{"1.25": "0/1 Init:0/2 2", "1.29": "1/2 Init:1/2 3", "1.36": "1/2 Init:1/2 3"}},
		{"late", sidecar, `"phase":"Running","initContainerStatuses":[` + started + `,{"name":"a","restartCount":4,"state":{"terminated":{"exitCode":0}}}],"containerStatuses":[` + works + `]`, ``,
			map[string]string{"1.25": "0/1 Init:0/2 2", "1.29": "2/2 Running 3", "1.36": "2/2 Running 3"}},
		{"restarted", sidecar, `"conditions":[{"type":"Initialized","status":"True"}],"initContainerStatuses":[{"name":"s","restartCount":2,"state":{"waiting":{"reason":"CrashLoopBackOff"}}}],"containerStatuses":[` + works + `]`, ``,
			map[string]string{"1.25": "0/1 Init:CrashLoopBackOff 2", "1.29": "1/2 Init:CrashLoopBackOff 3", "1.36": "1/2 Init:CrashLoopBackOff 3"}},
		{"ended", ``, `"phase":"Succeeded"`, `"finalizers":["example.com/keep"],`, map[string]string{"1.25": "0/1 Terminating 0", "1.30": "0/1 Terminating 0", "1.31": "0/1 Succeeded 0"}},
		{"failed", ``, `"containerStatuses":[{"name":"b","state":{"terminated":{"exitCode":0,"reason":"Completed"}}},{"name":"c","state":{"terminated":{"exitCode":1,"reason":"Error"}}}]`, ``,
			map[string]string{"1.25": "0/1 Completed 0", "1.34": "0/1 Completed 0", "1.35": "0/1 Error 0"}},
	}
	servers := map[string]*harness.Server{}
	for _, pod := range pods {
		for release, want := range pod.want {
			h := servers[release]
			if h == nil {
				h = harness.Start(t, emulating(release))
				servers[release] = h
			}
			path := "/api/v1/namespaces/default/pods/" + pod.name
			h.Create("/api/v1/namespaces/default/pods", fmt.Sprintf(`{"metadata":{%s"name":%q},"spec":{%s"containers":[{"name":"c","image":"i"}]}}`, pod.finalizer, pod.name, pod.spec))
			if pod.status != "" {
				h.Send(http.MethodPatch, path+"/status", "application/merge-patch+json", []byte(`{"status":{`+pod.status+`}}`))
			}
			if pod.finalizer != "" {
				h.Send(http.MethodDelete, path+"?gracePeriodSeconds=0", "", nil)
			}
			answer := h.Send(http.MethodGet, path, "", nil, "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
			var table struct{ Rows []struct{ Cells []any } }
			if err := json.Unmarshal(answer.Body, &table); err != nil || len(table.Rows) != 1 {
				t.Fatalf("%s %s: %v: %s", release, pod.name, err, answer.Body)
			}
			if got := strings.Trim(fmt.Sprint(table.Rows[0].Cells[1:4]), "[]"); got != want {
				t.Errorf("%s: the pod %s is shown as %s, want %s", release, pod.name, got, want)
			}
		}
	}
}
