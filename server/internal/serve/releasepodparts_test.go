package serve_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestReleasePodReports: what a report about a pod may leave out, and where its mistakes are, is that of the release.
func TestReleasePodReports(t *testing.T) {
	for _, c := range []struct{ release, patch, want, class string }{
		{"1.31", `{"status":{"conditions":[{"type":"","status":"True"}]}}`, "metadata.conditions[0].Type Invalid; metadata.conditions[0].Type Invalid", "BestEffort"},
		{"1.33", `{"status":{"conditions":[{"type":"","status":"True"}]}}`, "status.conditions[0].Type Invalid; status.conditions[0].Type Invalid", "BestEffort"},
		{"1.31", `{"status":{"qosClass":null}}`, "200", "<nil>"},
		{"1.32", `{"status":{"qosClass":null}}`, "200", "BestEffort"},
	} {
		h := harness.Start(t, emulating(c.release))
		h.Post(releasePods, `{"metadata":{"name":"p"},"spec":{`+ctr+`}}`).Expect(t, http.StatusCreated, "")
		if got := found(t, h.Merge(releasePods+"/p/status", c.patch)); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.release, c.patch, got, c.want)
		}
		if class := fmt.Sprint(h.Get(releasePods+"/p").Field(t, "status.qosClass")); class != c.class {
			t.Errorf("%s %s: the class is %s, want %s", c.release, c.patch, class, c.class)
		}
	}
}

// TestReleaseClasses: an update that would make a pod one of another class says so, in the releases from 1.29 to 1.31.
func TestReleaseClasses(t *testing.T) {
	for release, want := range map[string]string{"1.28": "spec Forbidden", "1.29": "metadata Invalid; spec Forbidden", "1.31": "metadata Invalid; spec Forbidden", "1.32": "spec Forbidden"} {
		h := harness.Start(t, emulating(release))
		h.Post(releasePods, `{"metadata":{"name":"p"},"spec":{`+ctr+`}}`).Expect(t, http.StatusCreated, "")
		got := found(t, h.Send(http.MethodPatch, releasePods+"/p", harness.StrategicMedia, []byte(`{"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"1"}}}]}}`)))
		if got != want {
			t.Errorf("%s: %s, want %s", release, got, want)
		}
	}
}

// TestReleaseEphemeralOwners: from 1.33 on the author of ephemeral containers owns them, and what else was sent.
func TestReleaseEphemeralOwners(t *testing.T) {
	for release, owned := range map[string]bool{"1.32": false, "1.33": true, "1.36": true} {
		h := harness.Start(t, emulating(release))
		h.Post(releasePods+"?fieldManager=first", `{"metadata":{"name":"p"},"spec":{`+ctr+`}}`).Expect(t, http.StatusCreated, "")
		got := h.Send(http.MethodPatch, releasePods+"/p/ephemeralcontainers?fieldManager=second", harness.StrategicMedia,
			[]byte(`{"metadata":{"labels":{"a":"b"}},"spec":{"ephemeralContainers":[{"name":"e","image":"i"}]}}`))
		got.Expect(t, http.StatusOK, "")
		if got.Field(t, "metadata.labels") != nil {
			t.Errorf("%s: the labels change: %s", release, got.Body)
		}
		entries, _ := got.Field(t, "metadata.managedFields").([]any)
		if len(entries) != 1 && !owned || len(entries) != 2 && owned {
			t.Fatalf("%s: %d owners: %s", release, len(entries), got.Body)
		}
		if !owned {
			continue
		}
		for path, want := range map[string]string{"manager": "second", "operation": "Update", "subresource": "ephemeralcontainers"} {
			if v := fmt.Sprint(got.Field(t, "metadata.managedFields.1."+path)); v != want {
				t.Errorf("%s: %s of the owner is %s, want %s", release, path, v, want)
			}
		}
		fields := got.Field(t, "metadata.managedFields.1.fieldsV1").(map[string]any)
		if fields["f:metadata"] == nil || fields["f:spec"].(map[string]any)["f:ephemeralContainers"] == nil {
			t.Errorf("%s: the author owns %v", release, fields)
		}
	}
}

// TestReleasePodFields: where causes name an address, and the rest of a hook whose only field is behind a gate that is off.
func TestReleasePodFields(t *testing.T) {
	for release, want := range map[string]string{"1.29": "spec.hostAliases.ip Invalid", "1.30": "spec.hostAliases[0].ip Invalid"} {
		h := harness.Start(t, emulating(release))
		if got := found(t, h.Post(releasePods+"?dryRun=All", `{"metadata":{"name":"p"},"spec":{"hostAliases":[{"ip":"x"}],`+ctr+`}}`)); got != want {
			t.Errorf("%s: %s, want %s", release, got, want)
		}
	}
	for _, c := range []struct{ release, lifecycle, want string }{
		{"1.29", `{"preStop":{"sleep":{"seconds":1}}}`, "<nil>"},
		{"1.29", `{"preStop":{"sleep":{"seconds":1}},"postStart":{"exec":{"command":["a"]}}}`, "map[postStart:map[exec:map[command:[a]]]]"},
		{"1.30", `{"preStop":{"sleep":{"seconds":1}}}`, "map[preStop:map[sleep:map[seconds:1]]]"},
		{"1.33", `{"stopSignal":"SIGTERM"}`, "<nil>"},
	} {
		h := harness.Start(t, emulating(c.release))
		got := h.Post(releasePods+"?dryRun=All", `{"metadata":{"name":"p"},"spec":{"os":{"name":"linux"},"containers":[{"name":"c","image":"i","lifecycle":`+c.lifecycle+`}]}}`)
		got.Expect(t, http.StatusCreated, "")
		if v := fmt.Sprint(got.Field(t, "spec.containers.0.lifecycle")); v != c.want {
			t.Errorf("%s %s becomes %s, want %s", c.release, c.lifecycle, v, c.want)
		}
	}
	for release, want := range map[string]string{"1.32": "<nil>", "1.33": "SIGTERM"} { // an agent reports the signal, with the feature off too
		h := harness.Start(t, emulating(release))
		h.Post(releasePods, `{"metadata":{"name":"p"},"spec":{`+ctr+`}}`).Expect(t, http.StatusCreated, "")
		got := h.Merge(releasePods+"/p/status", `{"status":{"containerStatuses":[{"name":"c","image":"i","imageID":"","ready":true,"restartCount":0,"stopSignal":"SIGTERM"}]}}`)
		got.Expect(t, http.StatusOK, "")
		if v := fmt.Sprint(got.Field(t, "status.containerStatuses.0.stopSignal")); v != want {
			t.Errorf("%s: the signal of a status becomes %s, want %s", release, v, want)
		}
	}
}
