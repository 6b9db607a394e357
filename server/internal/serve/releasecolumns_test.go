package serve_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestReleaseColumns: a table has the columns of the release, in its order.
func TestReleaseColumns(t *testing.T) {
	servers := map[string]*harness.Server{}
	for path, releases := range map[string]map[string]string{
		"/api/v1/resourcequotas": {"1.25": "Name,Age,Request,Limit", "1.32": "Name,Age,Request,Limit",
			"1.33": "Name,Request,Limit,Age", "1.36": "Name,Request,Limit,Age"},
		"/api/v1/serviceaccounts": {"1.25": "Name,Secrets,Age", "1.34": "Name,Secrets,Age", "1.35": "Name,Age"},
		"/api/v1/persistentvolumes": {"1.25": "Name,Capacity,Access Modes,Reclaim Policy,Status,Claim,StorageClass,Reason,Age,VolumeMode",
			"1.29": "Name,Capacity,Access Modes,Reclaim Policy,Status,Claim,StorageClass,VolumeAttributesClass,Reason,Age,VolumeMode"},
		"/api/v1/persistentvolumeclaims": {"1.25": "Name,Status,Volume,Capacity,Access Modes,StorageClass,Age,VolumeMode",
			"1.29": "Name,Status,Volume,Capacity,Access Modes,StorageClass,VolumeAttributesClass,Age,VolumeMode"},
		"/apis/batch/v1/jobs": {"1.25": "Name,Completions,Duration,Age,Containers,Images,Selector", "1.30": "Name,Status,Completions,Duration,Age,Containers,Images,Selector"},
		"/apis/batch/v1/cronjobs": {"1.25": "Name,Schedule,Suspend,Active,Last Schedule,Age,Containers,Images,Selector",
			"1.30": "Name,Schedule,Timezone,Suspend,Active,Last Schedule,Age,Containers,Images,Selector"},
		"/apis/scheduling.k8s.io/v1/priorityclasses": {"1.25": "Name,Value,Global-Default,Age", "1.32": "Name,Value,Global-Default,Age,PreemptionPolicy"},
		"/apis/flowcontrol.apiserver.k8s.io/v1beta2/prioritylevelconfigurations": {
			"1.25": "Name,Type,AssuredConcurrencyShares,Queues,HandSize,QueueLengthLimit,Age", "1.26": "Name,Type,NominalConcurrencyShares,Queues,HandSize,QueueLengthLimit,Age"},
	} {
		for release, want := range releases {
			h := servers[release]
			if h == nil {
				h = harness.Start(t, emulating(release))
				servers[release] = h
			}
			answer := h.Send(http.MethodGet, path, "", nil, "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
			var table struct{ ColumnDefinitions []struct{ Name string } }
			if err := json.Unmarshal(answer.Body, &table); err != nil {
				t.Fatalf("%s %s: %v: %s", release, path, err, answer.Body)
			}
			var names []string
			for _, column := range table.ColumnDefinitions {
				names = append(names, column.Name)
			}
			if got := strings.Join(names, ","); got != want {
				t.Errorf("%s: a table of %s has the columns %s, want %s", release, path, got, want)
			}
		}
	}
}
