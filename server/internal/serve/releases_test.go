package serve_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/gen/profile"
	"github.com/capstan-dev/capstan/internal/gen/releases"
	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// facts are the rows of a table of what Kubernetes served in its releases.
func facts(t *testing.T, name string) (rows []map[string]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "generator", "internal", "facts", "testdata", filepath.FromSlash(name)+".tsv"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	names := strings.Split(lines[0], "\t")
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, cell := range strings.Split(line, "\t") {
			row[names[i]] = cell
		}
		rows = append(rows, row)
	}
	return rows
}

// within reports whether a list like 25-28,30 has a number.
func within(list string, minor int) bool {
	return slices.ContainsFunc(strings.Split(list, ","), func(part string) bool {
		first, last, ok := strings.Cut(part, "-")
		if !ok {
			last = first
		}
		from, _ := strconv.Atoi(first)
		to, _ := strconv.Atoi(last)
		return from <= minor && minor <= to
	})
}

func emulating(release string, more ...string) func(*server.Config) {
	return func(c *server.Config) {
		c.EmulatedVersion, c.RuntimeConfig = []string{release}, more
	}
}

// served are the resources that a server has in discovery, as "group/version resource kind namespaced verbs".
func served(t *testing.T, h *harness.Server) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	add := func(path, group, version string) {
		list := h.Get(path)
		resources, _ := list.Field(t, "resources").([]any)
		for _, r := range resources {
			r := r.(map[string]any)
			var verbs []string
			for _, verb := range r["verbs"].([]any) {
				verbs = append(verbs, verb.(string))
			}
			slices.Sort(verbs)
			if !slices.Contains(verbs, "list") && strings.HasSuffix(r["kind"].(string), "Options") {
				verbs = []string{"connect"} // as the tables call verbs that hand a connection through
			}
			found[fmt.Sprintf("%s/%s %s %s %t %s", group, version, r["name"], r["kind"], r["namespaced"], strings.Join(verbs, ","))] = true
		}
	}
	add("/api/v1", "core", "v1")
	groups, _ := h.Get("/apis").Field(t, "groups").([]any)
	for _, g := range groups {
		for _, v := range g.(map[string]any)["versions"].([]any) {
			gv := v.(map[string]any)["groupVersion"].(string)
			group, version, _ := strings.Cut(gv, "/")
			add("/apis/"+gv, group, version)
		}
	}
	return found
}

// TestReleases: a server of each release serves the resources that Kubernetes served in it, those of 1.25's extras besides, and
// says which release it is.
func TestReleases(t *testing.T) {
	extras := map[string]bool{}
	for _, r := range facts(t, "newer") {
		extras[r["group"]+"/"+r["version"]+" "+r["resource"]] = true
	}
	resources := facts(t, "releases/resources")
	for _, release := range releases.History().All {
		t.Run(release, func(t *testing.T) {
			t.Parallel()
			h := harness.Start(t, func(c *server.Config) {
				emulating(release, "api/all=true")(c)
				c.FeatureGates = []string{"AllAlpha=true", "AllBeta=true"} // without which some kinds are not served
			})
			_, name, _ := strings.Cut(release, ".")
			minor, err := strconv.Atoi(name)
			if err != nil {
				t.Fatal(err)
			}
			if got := h.Get("/version"); got.Field(t, "minor") != name || !strings.HasPrefix(got.Field(t, "gitVersion").(string), "v"+release+".") {
				t.Errorf("/version says %s", got.Body)
			}
			if got := h.Get("/openapi/v3/apis/apps/v1").Field(t, "info.version").(string); !strings.HasPrefix(got, "v"+release+".") {
				t.Errorf("the OpenAPI document is of %s", got)
			}
			there := served(t, h)
			for _, r := range resources {
				if !within(r["releases"], minor) {
					continue
				}
				line := fmt.Sprintf("%s/%s %s %s %t %s", r["group"], r["version"], r["resource"], r["kind"], r["namespaced"] == "y", r["verbs"])
				if !there[line] {
					t.Errorf("not served: %s", line)
				}
				delete(there, line)
			}
			for line := range there {
				if fields := strings.Fields(line); !extras[fields[0]+" "+fields[1]] && !beyondTables(fields) {
					t.Errorf("served, and Kubernetes does not: %s", line)
				}
			}
		})
	}
}

// beyondTables reports whether the tables lack a resource on purpose.
func beyondTables(fields []string) bool {
	return fields[0] == "admissionregistration."+profile.GroupSuffix+"/v1alpha1" && fields[1] == "validatingadmissionpolicies/status"
}

// TestReleaseDefaults: alpha versions, and beta versions from 1.24 on, are off; a version that a release ends is not there.
func TestReleaseDefaults(t *testing.T) {
	for _, c := range []struct{ release, path string }{
		{"1.25", "200 /apis/autoscaling/v2beta2"}, {"1.26", "404 /apis/autoscaling/v2beta2"}, {"1.26", "200 /apis/flowcontrol.apiserver.k8s.io/v1beta2"},
		{"1.29", "404 /apis/flowcontrol.apiserver.k8s.io/v1beta2"}, {"1.32", "404 /apis/flowcontrol.apiserver.k8s.io/v1beta3"},
		{"1.33", "404 /apis/resource.k8s.io/v1beta1"}, {"1.33", "404 /apis/resource.k8s.io/v1"}, {"1.34", "200 /apis/resource.k8s.io/v1"},
		{"1.34", "404 /apis/resource.k8s.io/v1beta2"}, {"1.33", "200 /apis/networking.k8s.io/v1/servicecidrs"}, {"1.32", "404 /apis/networking.k8s.io/v1/servicecidrs"},
		{"1.36", "404 /apis/certificates.k8s.io/v1beta1"},
	} {
		code, path, _ := strings.Cut(c.path, " ")
		h := harness.Start(t, emulating(c.release))
		if got := h.Get(path); strconv.Itoa(got.Code) != code {
			t.Errorf("%s: %s answers %d", c.release, path, got.Code)
		}
	}
}

// gated is a pod with scheduling gates, a field of 1.26 behind a gate that is on from 1.27.
const gated = `{"metadata":{"name":"p"},"spec":{"schedulingGates":[{"name":"example.com/wait"}],"containers":[{"name":"c","image":"i"}]}}`

// TestReleaseFields: an object that a later release stored is served without the fields that an earlier one lacks, which come
// back in the later one.
func TestReleaseFields(t *testing.T) {
	const pods, pod = "/api/v1/namespaces/default/pods", "/api/v1/namespaces/default/pods/p"
	dir := t.TempDir()
	in := func(release string, do func(h *harness.Server)) {
		t.Run(release, func(t *testing.T) {
			do(harness.Start(t, func(c *server.Config) {
				emulating(release)(c)
				c.InMemory, c.DataDir = false, dir
			}))
		})
	}
	has := func(h *harness.Server, want bool) {
		h.T.Helper()
		got := h.Get(pod)
		got.Expect(h.T, http.StatusOK, "")
		if (got.Field(h.T, "spec.schedulingGates") != nil) != want {
			h.T.Errorf("the pod is %s", got.Body)
		}
	}
	in("1.27", func(h *harness.Server) {
		h.Post(pods+"?fieldValidation=Strict", gated).Expect(h.T, http.StatusCreated, "")
		has(h, true)
	})
	in("1.25", func(h *harness.Server) {
		has(h, false)
		h.Post(pods+"?fieldValidation=Strict", strings.Replace(gated, `"p"`, `"q"`, 1)).Expect(h.T, http.StatusBadRequest, "BadRequest")
	})
	in("1.36", func(h *harness.Server) { has(h, true) })
	in("1.26", func(h *harness.Server) { // the gate is alpha there
		h.Post(pods, strings.Replace(gated, `"p"`, `"r"`, 1)).Expect(h.T, http.StatusCreated, "")
		if got := h.Get(pods + "/r"); got.Field(h.T, "spec.schedulingGates") != nil {
			h.T.Errorf("the pod is %s", got.Body)
		}
	})
}

// TestReleaseMistakes: a release that the documents do not have, and a gate that the release does not have, end the start.
func TestReleaseMistakes(t *testing.T) {
	for flag, want := range map[string]string{
		"1.24": `--emulated-version 1.24: there is no release "1.24"; write one from 1.25 to 1.36`, "kube=1.37": "write one from 1.25 to 1.36",
		"fleet.example.com=1.0": "no API with the group",
	} {
		c := server.Config{InMemory: true}
		c.EmulatedVersion = []string{flag}
		if s, err := harness.Launch(t.Context(), c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", flag, err)
			if err == nil {
				_ = s.Shutdown(t.Context())
			}
		}
	}
	c := server.Config{InMemory: true}
	c.FeatureGates = []string{"SidecarContainers=true"}
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "there is no feature gate SidecarContainers") {
		t.Errorf("a gate of 1.28 in 1.25: %v", err)
	}
	if c.EmulatedVersion = []string{"1.28"}; c.Validate() != nil {
		t.Errorf("a gate of 1.28 in 1.28: %v", c.Validate())
	}
}
