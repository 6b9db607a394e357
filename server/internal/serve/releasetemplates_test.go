package serve_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

const releaseSets = "/apis/apps/v1/namespaces/default/statefulsets"

// statefulSet is a set with members of its spec, and of the spec of its pods.
func statefulSet(more, pod string) string {
	return fmt.Sprintf(`{"metadata":{"name":"w"},"spec":{"selector":{"matchLabels":{"a":"b"}},%s"template":{"metadata":{"labels":{"a":"b"}},"spec":{%s}}}}`, more, pod)
}

const (
	mounting = `"containers":[{"name":"c","image":"i","volumeMounts":[{"name":"d","mountPath":"/d"}]}]`
	claimed  = `"volumeClaimTemplates":[{"metadata":{"name":"d"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}],`
)

// TestReleaseStatefulSets: the pods of a stateful set's template are checked from 1.34 on, with volumes for its claims; other rules came
// before.
func TestReleaseStatefulSets(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       []string // as in podCase
	}{
		{"claimed", statefulSet(claimed, mounting), []string{"1.26 201"}},
		{"not claimed", statefulSet("", mounting), []string{"1.26 201", "1.34 spec.template.spec.containers[0].volumeMounts[0].name NotFound"}},
		{"after the claims", statefulSet(claimed, `"volumes":[{"name":"-"}],`+ctr), []string{"1.26 201", "1.34 spec.template.spec.volumes[1].name Invalid"}},
		{"in place of a volume", statefulSet(claimed, `"volumes":[{"name":"d","iscsi":{}}],`+ctr), []string{"1.26 201"}},
		{"names from the controller", statefulSet(`"serviceName":"s",`, `"hostname":"-","subdomain":"-",`+ctr), []string{"1.26 201"}},
		{"container", statefulSet("", `"containers":[{"name":"c"}]`), []string{"1.26 201", "1.34 spec.template.spec.containers[0].image Required"}},
		{"claim", statefulSet(`"volumeClaimTemplates":[{"metadata":{"name":"d"},"spec":{"resources":{"requests":{"storage":"1Gi"}}}}],`, ctr),
			[]string{"1.26 201", "1.34 spec.volumeClaimTemplates[0].spec.accessModes Required"}},
		{"annotation", strings.Replace(statefulSet("", ctr), `"labels":{"a":"b"}}`, `"labels":{"a":"b"},"annotations":{"-":""}}`, 1),
			[]string{"1.26 spec.template.annotations Invalid", "1.34 spec.template.annotations Invalid; spec.template.annotations Invalid"}},
		{"service", statefulSet(`"serviceName":"a.b",`, ctr), []string{"1.26 201", "1.33 spec.serviceName Invalid"}},
		{"name", strings.Replace(statefulSet("", ctr), `"w"`, `"w.x"`, 1), []string{"1.26 201", "1.27 metadata.name Invalid"}},
	} {
		for _, release := range []string{"1.26", "1.33", "1.34", "1.36"} {
			want := podCase{want: c.want}.at(release)
			if got := found(t, harness.Start(t, emulating(release)).Post(releaseSets+"?dryRun=All", c.body)); got != want {
				t.Errorf("%s %s: %s, want %s", release, c.name, got, want)
			}
		}
	}
}

// TestReleaseStatefulSetUpdates: what an update of a stateful set may change, and that mistakes of an update are found in its template.
func TestReleaseStatefulSetUpdates(t *testing.T) {
	for _, c := range []struct{ release, patch, want string }{
		{"1.32", `{"spec":{"revisionHistoryLimit":5}}`, "spec Forbidden"},
		{"1.33", `{"spec":{"revisionHistoryLimit":5}}`, "200"},
		{"1.32", `{"spec":{"ordinals":{"start":2}}}`, "200"},
		{"1.36", `{"spec":{"serviceName":"a.b"}}`, "spec Forbidden"},
		{"1.36", `{"spec":{"volumeClaimTemplates":null}}`, "spec Forbidden; spec.template.spec.containers[0].volumeMounts[0].name NotFound"},
		{"1.33", `{"spec":{"template":{"spec":{"volumes":[{"name":"-"}]}}}}`, "200"},
		{"1.36", `{"spec":{"template":{"spec":{"volumes":[{"name":"-"}]}}}}`, "spec.template.spec.volumes[1].name Invalid"},
	} {
		h := harness.Start(t, emulating(c.release))
		h.Post(releaseSets, statefulSet(claimed, mounting)).Expect(t, http.StatusCreated, "")
		if got := found(t, h.Merge(releaseSets+"/w", c.patch)); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.release, c.patch, got, c.want)
		}
	}
}

// said are the texts of the warnings of an answer.
func said(r harness.Reply) (all []string) {
	for _, line := range r.Header.Values("Warning") {
		_, text, _ := strings.Cut(line, `"`)
		all = append(all, strings.ReplaceAll(strings.TrimSuffix(text, `"`), `\"`, `"`))
	}
	return all
}

// TestReleaseClaimWarnings: the warnings about claims are those of the release, on create and on update, not on an update of the status.
func TestReleaseClaimWarnings(t *testing.T) {
	const (
		claims   = "/api/v1/namespaces/default/persistentvolumeclaims"
		old      = `metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use "storageClassName" attribute instead`
		fraction = `spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer`
		more     = `spec.resources.limits[storage]: fractional byte value "500m" is invalid, must be an integer`
	)
	for release, want := range map[string][]string{"1.25": nil, "1.26": {fraction, more}, "1.28": {old, fraction, more}, "1.36": {old, fraction, more}} {
		h := harness.Start(t, emulating(release))
		created := h.Post(claims, `{"metadata":{"name":"c","annotations":{"volume.beta.kubernetes.io/storage-class":"s"}},
			"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1500m"},"limits":{"storage":0.5}}}}`)
		created.Expect(t, http.StatusCreated, "")
		updated := h.Merge(claims+"/c", `{"metadata":{"labels":{"a":"b"}}}`)
		status := h.Merge(claims+"/c/status", `{"status":{"phase":"Bound"}}`)
		if status.Code != http.StatusOK || !slices.Equal(said(created), want) || !slices.Equal(said(updated), want) || said(status) != nil {
			t.Errorf("%s: on create %q, on update %q, with the status %d %q; want %q", release, said(created), said(updated), status.Code, said(status), want)
		}
	}
}

// TestReleaseWarnings: the warnings about pods and templates are those of the release.
func TestReleaseWarnings(t *testing.T) {
	const (
		shared = `"containers":[{"name":"c","image":"i","ports":[{"containerPort":80,"hostIP":"1.2.3.4"},{"name":"x","containerPort":80,"hostPort":81,"hostIP":"1.2.3.4"}]},` +
			`{"name":"d","image":"i","ports":[{"name":"x","containerPort":80,"hostPort":81}]}]`
		ambiguous = `spec.containers[0].ports[0]: hostIP set without hostPort: {Name: HostPort:0 ContainerPort:80 Protocol:TCP HostIP:1.2.3.4}|` +
			`spec.containers[0].ports[1]: overlapping port definition with spec.containers[0].ports[0]|` +
			`spec.containers[1].ports[0]: overlapping port definition with spec.containers[0].ports[0]|` +
			`spec.containers[1].ports[0]: dangerously ambiguous port definition with spec.containers[0].ports[1]`
		hides = `spec.containers[0].env[1]: hides previous definition of "A"`
	)
	env := func(value string) string {
		return `"containers":[{"name":"c","image":"i","env":[{"name":"A","value":"1"},{"name":"A","value":"` + value + `"}]}]`
	}
	for _, c := range []struct{ release, spec, want string }{
		{"1.27", shared, ""},
		{"1.28", shared, ambiguous},
		{"1.33", shared, ambiguous + `|spec.containers[1].ports[0]: duplicate port name "x" with spec.containers[0].ports[1], services and probes that select ports by name will use spec.containers[0].ports[1]`},
		{"1.27", env("2"), `spec.containers[0].env[1].name: duplicate name "A"`},
		{"1.28", env("2"), hides},
		{"1.30", env("2"), hides + ", which may be dropped when using apply"},
		{"1.30", env("$(A)2"), ""},
		{"1.27", `"volumes":[{"name":"v","rbd":{"monitors":["m"],"image":"i"}}],` + ctr, ""},
		{"1.36", `"volumes":[{"name":"v","rbd":{"monitors":["m"],"image":"i"}}],` + ctr, "spec.volumes[0].rbd: deprecated in v1.28, non-functional in v1.31+"},
		{"1.36", `"volumes":[{"name":"v","glusterfs":{"endpoints":"e","path":"p"}}],` + ctr, "spec.volumes[0].glusterfs: deprecated in v1.25, non-functional in v1.26+"},
		{"1.36", `"volumes":[{"name":"v","ephemeral":{"volumeClaimTemplate":{"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1500m"}}}}}}],` + ctr,
			`spec.volumes[0].ephemeral.volumeClaimTemplate.spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer`},
		{"1.32", `"hostAliases":[{"ip":"1::0"}],` + ctr, ""},
		{"1.33", `"hostAliases":[{"ip":"1::0"}],` + ctr, `spec.hostAliases[0].ip: IPv6 address "1::0" should be in RFC 5952 canonical format ("1::")`},
	} {
		h := harness.Start(t, emulating(c.release))
		want := strings.Split(c.want, "|")
		if c.want == "" {
			want = nil
		}
		if got := said(h.Post(releasePods+"?dryRun=All", `{"metadata":{"name":"p"},"spec":{`+c.spec+`}}`)); !slices.Equal(got, want) {
			t.Errorf("%s %s:\ngot  %q\nwant %q", c.release, c.spec, got, want)
		}
		for i := range want {
			want[i] = strings.ReplaceAll(want[i], "spec.", "spec.template.spec.")
			want[i] = strings.ReplaceAll(want[i], "volumeClaimTemplate.spec.template.", "volumeClaimTemplate.")
		}
		if got := said(h.Post(releaseSets+"?dryRun=All", statefulSet("", c.spec))); !slices.Equal(got, want) {
			t.Errorf("%s, in a template %s:\ngot  %q\nwant %q", c.release, c.spec, got, want)
		}
	}
}
