package options

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/gen/gates"
	"github.com/capstan-dev/capstan/server/internal/discovery"
)

func TestFeatures(t *testing.T) {
	for _, c := range []struct {
		gates   string
		on      string // separated by spaces; "-" before disabled ones
		warning string
	}{
		{"", "APIListChunking ServerSideFieldValidation DryRun WatchBookmark -StorageVersionAPI -MinDomainsInPodTopologySpread -DynamicKubeletConfig", ""},
		{"APIListChunking=false", "-APIListChunking RemainingItemCount", ""},
		{"APIListChunking=false,APIListChunking=true", "APIListChunking", ""},
		{" ServerSideFieldValidation = F ", "-ServerSideFieldValidation", ""},
		{"AllBeta=false", "-APIListChunking -OpenAPIV3 DryRun -StorageVersionAPI", ""},
		{"APIListChunking=true,AllBeta=false", "APIListChunking -OpenAPIV3", ""},
		{"AllAlpha=true", "StorageVersionAPI -MinDomainsInPodTopologySpread APIListChunking -DynamicKubeletConfig", "no effect on this server: AllAlpha"},
		{"AllBeta=true", "MinDomainsInPodTopologySpread -StorageVersionAPI", ""},
		{"ServerSideApply=true", "ServerSideApply", "Setting GA feature gate ServerSideApply=true. It will be removed in a future release."},
		{"DryRun=false", "-DryRun", "Setting GA feature gate DryRun=false. It will be removed in a future release."},
		{"ExecProbeTimeout=false", "-ExecProbeTimeout", "no effect on this server: ExecProbeTimeout"},
		{"DynamicKubeletConfig=true", "DynamicKubeletConfig", "Setting deprecated feature gate DynamicKubeletConfig=true. It will be removed in a future release."},
		{"CSIVolumeHealth=true", "CSIVolumeHealth", "no effect on this server: CSIVolumeHealth"},
		{"CSIVolumeHealth=false", "-CSIVolumeHealth", ""},
	} {
		f, warnings, err := Parse(strings.Split(c.gates, ","), discovery.Usual)
		if err != nil {
			t.Errorf("%q: %v", c.gates, err)
		}
		for name := range strings.FieldsSeq(c.on) {
			name, off := strings.CutPrefix(name, "-")
			if on, known := f[name]; !known || on == off {
				t.Errorf("%q: %s is %v", c.gates, name, on)
			}
		}
		if got := strings.Join(warnings, "\n"); (got == "") != (c.warning == "") || !strings.Contains(got, c.warning) {
			t.Errorf("%q: warnings %q, want %q", c.gates, got, c.warning)
		}
	}
}

func TestFeatureMistakes(t *testing.T) {
	for gates, want := range map[string]string{
		"CSRDuration=false":       "cannot set feature gate CSRDuration to false, feature is locked to true",
		"APIListChunk=false":      "there is no feature gate APIListChunk; did you mean APIListChunking?",
		"dryrun=true":             "did you mean DryRun?",
		"allbeta=true":            "did you mean AllBeta?",
		"Nonsense=true":           "there is no feature gate Nonsense; see --help",
		"APIListChunking":         "write APIListChunking=true or APIListChunking=false",
		"APIListChunking=maybe":   `"maybe" is neither true nor false`,
		"APIListChunking=":        `"" is neither true nor false`,
		"=true":                   "there is no feature gate ; see --help",
		"TokenRequest=false,X1=1": "there is no feature gate X1",
	} {
		if _, _, err := Parse(strings.Split(gates, ","), discovery.Usual); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "--feature-gates ") {
			t.Errorf("%s: %v, want %s", gates, err, want)
		}
	}
}

// TestGatesOfReleases: each gate of each release is locked or not, as the table of kube-apiserver's gates says.
func TestGatesOfReleases(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "generator", "internal", "facts", "testdata", "releases", "gates.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n")[1:] {
		row := strings.Split(line, "\t") // gate, stage, enabled, locked, releases
		first := "1." + strings.FieldsFunc(row[4], func(r rune) bool { return r == '-' || r == ',' })[0]
		if _, ok := featuresOf(first)[row[0]]; !ok {
			continue // an exception of TestReleasesAreComplete
		}
		gate := fmt.Sprintf("%s=%v", row[0], row[2] != "y")
		_, _, err := Parse([]string{gate}, first)
		needs := err != nil && strings.Contains(err.Error(), "depends on features that are disabled") // see TestNeededGates
		if refused := err != nil && strings.Contains(err.Error(), "feature is locked to"); refused != (row[3] == "y") || !refused && err != nil && !needs {
			t.Errorf("%s in %s: %v", gate, first, err)
		}
	}
}

// TestNeededGates: since 1.35 a feature that is on needs those that it depends on, in the words of kube-apiserver.
func TestNeededGates(t *testing.T) {
	const needs = " is enabled, but depends on features that are disabled: "
	for _, c := range []struct{ release, gates, want string }{
		{"1.34", "DynamicResourceAllocation=false", ""},
		{"1.35", "DRADeviceTaintRules=true", "DRADeviceTaintRules" + needs + "[DRADeviceTaints]"},
		{"1.35", "DRADeviceTaintRules=true,DRADeviceTaints=true", ""},
		{"1.35", "RestartAllContainersOnContainerExits=true", "RestartAllContainersOnContainerExits" + needs + "[NodeDeclaredFeatures]"},
		{"1.35", "GangScheduling=true,InPlacePodVerticalScalingExclusiveMemory=true,MemoryManager=true", "GangScheduling" + needs + "[GenericWorkload]"},
		{"1.35", "AllAlpha=true", ""},
		{"1.35", "AllBeta=true", ""},
		{"1.36", "AllAlpha=true", ""},
		{"1.36", "AllBeta=true", ""},
		{"1.36", "RestartAllContainersOnContainerExits=true", ""},
		{"1.36", "AllAlpha=true,GenericWorkload=false", "DRAWorkloadResourceClaims" + needs + "[GenericWorkload]\nGangScheduling" + needs + "[GenericWorkload]\n" +
			"TopologyAwareWorkloadScheduling" + needs + "[GenericWorkload]\nWorkloadWithJob" + needs + "[GenericWorkload]"},
		{"1.36", "NodeDeclaredFeatures=false,UserNamespacesSupport=false,UserNamespacesHostNetworkSupport=true", "cannot set feature gate UserNamespacesSupport"},
	} {
		_, _, err := Parse(strings.Split(c.gates, ","), c.release)
		if got := fmt.Sprint(err); (err == nil) != (c.want == "") || err != nil && !strings.Contains(got, c.want) {
			t.Errorf("%s in %s: %s, want %s", c.gates, c.release, got, c.want)
		}
	}
}

// The gates of the specification's table, with the stage given there.
func TestFeaturesOfTheSpecification(t *testing.T) {
	for name := range strings.FieldsSeq("ServerSideApply DryRun WatchBookmark EfficientWatchResumption WarningHeaders BoundServiceAccountTokenVolume TokenRequest CSRDuration RemoveSelfLink") {
		if f, ok := featuresOf(discovery.Usual)[name]; !ok || f.stage != stable {
			t.Errorf("%s: %v", name, f)
		}
	}
	for _, name := range []string{ListChunking, FieldValidation} {
		if f := featuresOf(discovery.Usual)[name]; f.stage != beta || !f.on || f.does == "" {
			t.Errorf("%s: %v", name, f)
		}
	}
	if help := Help(); !strings.Contains(help, "\nAPIListChunking (BETA, true): ") || strings.Contains(help, "CSRDuration") {
		t.Error(help)
	}
}

// Every field of a gate in the documents is in the help of the gate, unless the gate is of a later release.
func TestFeaturesOfTheDocuments(t *testing.T) {
	usual := featuresOf(discovery.Usual)
	for name, fields := range gates.Fields() {
		if _, ok := usual[name]; ok && (!strings.Contains(Help(), "\n"+name+" ") || !strings.Contains(Help(), fields)) {
			t.Errorf("the help does not say what %s does", name)
		}
	}
}
