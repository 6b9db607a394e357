package options

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/api"
	generated "github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/kinds/conversion"
	"github.com/capstan-dev/capstan/server/internal/kinds/policy"
)

func allGroups() []*api.GroupVersion {
	return generated.New(policy.New(time.Now), conversion.Hooks{})
}

func TestRuntimeConfig(t *testing.T) {
	const (
		cidrs  = "networking.k8s.io/v1alpha1/clustercidrs"
		old    = "autoscaling/v2beta2/horizontalpodautoscalers"
		stable = "autoscaling/v1/horizontalpodautoscalers"
	)
	for _, c := range []struct{ pairs, on, off string }{
		{"", old + " " + stable + " v1/pods", cidrs + " internal.apiserver.k8s.io/v1alpha1/storageversions"},
		{"api/all", old + " " + stable + " " + cidrs, ""},
		{"api/all=true", cidrs, ""},
		{"api/alpha=true", cidrs + " " + old, ""},
		{"api/beta=false", stable, old + " " + cidrs},
		{"api/beta=false autoscaling/v2beta2=true", stable + " " + old, "flowcontrol.apiserver.k8s.io/v1beta1/flowschemas"},
		{"api/ga=false", old, stable + " v1/pods"},
		{"api/all=false v1", "v1/pods", stable + " " + old},
		{"api/all=true api/beta=false", cidrs, old},
		{"networking.k8s.io/v1alpha1", cidrs, "internal.apiserver.k8s.io/v1alpha1/storageversions"},
		{"apps/v1=false", stable, "apps/v1/deployments"},
		{"apps/v1=false apps/v1/deployments=true", "apps/v1/deployments", "apps/v1/daemonsets"},
		{"apps/v1/deployments=false", "apps/v1/daemonsets", "apps/v1/deployments"},
		{"v1/pods=false", "v1/services", "v1/pods"},
		{"api/v1=false api/v1=true", "v1/pods", ""},
		{"batch/v1beta1=true extensions/v1beta1/deployments=true policy/v1beta1=false", stable, ""},
	} {
		groups := allGroups()
		config, err := ParseRuntimeConfig(strings.Fields(c.pairs), groups)
		if err != nil {
			t.Errorf("%s: %v", c.pairs, err)
			continue
		}
		config.Apply(groups, nil)
		var on []string
		for _, v := range catalog.New(groups, generated.Meta()).Snapshot().Served() {
			for _, row := range v.Rows {
				on = append(on, v.APIVersion()+"/"+row.Plural)
			}
		}
		for _, want := range strings.Fields(c.on) {
			if !slices.Contains(on, want) {
				t.Errorf("%s: %s is off", c.pairs, want)
			}
		}
		for _, want := range strings.Fields(c.off) {
			if slices.Contains(on, want) {
				t.Errorf("%s: %s is on", c.pairs, want)
			}
		}
	}
}

func TestWrongRuntimeConfig(t *testing.T) {
	for pair, want := range map[string]string{
		"api/everything":             "unknown api groups api",
		"nothing":                    "write a group version",
		"a/b/c/d":                    "write a group version",
		"Apps/v1":                    "write a group version",
		"apps/v1=maybe":              `"maybe" is neither true nor false`,
		"example.org/v1":             "unknown api groups example.org",
		"apps/v2":                    "the group apps has no version v2",
		"apps/v1/pods":               "the group version apps/v1 has no resource pods",
		"v2":                         "write a group version",
		"v1/deployments":             "the group version v1 has no resource deployments",
		"api/all=false":              "would leave nothing to serve",
		"networking.k8s.io/v2alpha1": "the group networking.k8s.io has no version v2alpha1",
	} {
		if _, err := ParseRuntimeConfig([]string{pair}, allGroups()); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "--runtime-config "+pair) {
			t.Errorf("%s: error %v, want %s", pair, err, want)
		}
	}
}
