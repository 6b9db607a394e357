package flowcontrol_test

import (
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// Later versions of flow schemas and priority levels are served to clients that know them,
// and are in discovery when they are turned on: the weight has another name, and may be 0.
func TestLaterFlowVersions(t *testing.T) {
	const group = "/apis/flowcontrol.apiserver.k8s.io"
	const levels, third, second = group + "/v1/prioritylevelconfigurations", group + "/v1beta3/prioritylevelconfigurations", group + "/v1beta2/prioritylevelconfigurations"
	h := harness.Start(t, func(c *server.Config) { c.DisablePriorityAndFairness = false })
	h.Run(t, []harness.Step{
		{"not in the group", "GET", group, "", "", 200, `"preferredVersion":{"groupVersion":"flowcontrol.apiserver.k8s.io/v1beta2","version":"v1beta2"}`},
		{"create", "POST", levels, "", `{"metadata":{"name":"a"},"spec":{"type":"Limited","limited":{"lendablePercent":50,"borrowingLimitPercent":200,"limitResponse":{"type":"Reject"}}}}`, 201,
			`"limited":{"nominalConcurrencyShares":30,"limitResponse":{"type":"Reject"},"lendablePercent":50,"borrowingLimitPercent":200}`},
		{"in v1beta2", "GET", second + "/a", "", "", 200, `"limited":{"assuredConcurrencyShares":30,"limitResponse":{"type":"Reject"},"lendablePercent":50,"borrowingLimitPercent":200}`},
		{"in v1beta3", "GET", third + "/a", "", "", 200, `"apiVersion":"flowcontrol.apiserver.k8s.io/v1beta3"`},
		{"no shares", "PATCH", levels + "/a", harness.MergePatchMedia, `{"spec":{"limited":{"nominalConcurrencyShares":0}}}`, 200, `"nominalConcurrencyShares":0`},
		{"no shares in v1beta2", "GET", second + "/a", "", "", 200, `"assuredConcurrencyShares":30`},
		{"no shares in v1beta3", "GET", third + "/a", "", "", 200, `"nominalConcurrencyShares":0`},
		{"another field", "PATCH", second + "/a", harness.MergePatchMedia, `{"metadata":{"labels":{"a":"b"}}}`, 200, `"a":"b"`},
		{"still no shares", "GET", levels + "/a", "", "", 200, `"nominalConcurrencyShares":0`},
		{"another number in v1beta2", "PATCH", second + "/a", harness.MergePatchMedia, `{"spec":{"limited":{"assuredConcurrencyShares":5}}}`, 200, `"assuredConcurrencyShares":5`},
		{"another number", "GET", levels + "/a", "", "", 200, `"nominalConcurrencyShares":5`},
		{"0 in v1beta3 is the default", "PATCH", third + "/a", harness.MergePatchMedia, `{"metadata":{"annotations":null},"spec":{"limited":{"nominalConcurrencyShares":0}}}`, 200, `"nominalConcurrencyShares":30`},
		{"no shares again", "PATCH", levels + "/a", harness.MergePatchMedia, `{"spec":{"limited":{"nominalConcurrencyShares":0}}}`, 200, `"nominalConcurrencyShares":0`},
		{"negative", "PATCH", levels + "/a", harness.MergePatchMedia, `{"spec":{"limited":{"nominalConcurrencyShares":-1}}}`, 422, `must be`},
		{"a part of exempt requests", "PATCH", levels + "/exempt", harness.MergePatchMedia, `{"spec":{"exempt":{"nominalConcurrencyShares":7,"lendablePercent":100}}}`, 200, `"exempt":{"nominalConcurrencyShares":7,"lendablePercent":100}`},
		{"of other levels", "PATCH", levels + "/a", harness.MergePatchMedia, `{"spec":{"exempt":{"lendablePercent":1}}}`, 422, `"spec.exempt"`},
		{"the fixed level", "PATCH", levels + "/catch-all", harness.MergePatchMedia, `{"spec":{"limited":{"nominalConcurrencyShares":6}}}`, 422, `must equal the fixed value`},
		{"the fixed level unchanged", "PATCH", levels + "/catch-all", harness.MergePatchMedia, `{"metadata":{"labels":{"a":"b"}}}`, 200, ``},
		{"schemas", "GET", group + "/v1/flowschemas/catch-all", "", "", 200, `"apiVersion":"flowcontrol.apiserver.k8s.io/v1"`},
		{"status", "GET", group + "/v1/flowschemas/catch-all/status", "", "", 200, `"Dangling"`},
	})
	if err := h.Running.LookAfter(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.Get(second+"/exempt").Has(t, `"exempt":{"nominalConcurrencyShares":7,"lendablePercent":100}`)
	if got := string(h.Get(group).Body); strings.Contains(got, `io/v1"`) || strings.Contains(got, "v1beta3") {
		t.Errorf("listed: %s", got)
	}
	awaitFigure(h, `apiserver_flowcontrol_lower_limit_seats{priority_level="exempt"`, "0")
	awaitFigure(h, `apiserver_flowcontrol_nominal_limit_seats{priority_level="a"`, "0")
	if nominal := h.Figures()[`apiserver_flowcontrol_nominal_limit_seats{priority_level="exempt"`]; nominal == "0" || nominal == "" {
		t.Errorf("the exempt level has %q nominal seats", nominal)
	}

	on := harness.Start(t, func(c *server.Config) { c.RuntimeConfig = []string{"flowcontrol.apiserver.k8s.io/v1=true"} })
	on.Get(group).Has(t, `"preferredVersion":{"groupVersion":"flowcontrol.apiserver.k8s.io/v1","version":"v1"}`)
	on.Get(group+"/v1").Has(t, `"name":"prioritylevelconfigurations/status"`)
	off := harness.Start(t, func(c *server.Config) { c.RuntimeConfig = []string{"flowcontrol.apiserver.k8s.io/v1=false"} })
	off.Get(levels).Expect(t, 404, "")
}
