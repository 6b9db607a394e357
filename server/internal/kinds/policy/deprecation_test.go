package policy_test

import (
	"testing"
	"time"

	generated "github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/discovery"
	"github.com/capstan-dev/capstan/server/internal/kinds/conversion"
	"github.com/capstan-dev/capstan/server/internal/kinds/policy"
	"github.com/capstan-dev/capstan/server/internal/objects"
	"github.com/capstan-dev/capstan/server/internal/options"
	"github.com/capstan-dev/capstan/server/internal/request"
)

// Deprecations of later releases are not shown.
func TestFutureDeprecations(t *testing.T) {
	groups := generated.New(policy.New(time.Now), conversion.Hooks{})
	options.DropFutureDeprecations(groups, discovery.Usual)
	for _, c := range []struct {
		group, version, plural, warning string
	}{
		{"flowcontrol.apiserver.k8s.io", "v1beta2", "flowschemas", ""},
		{"", "v1", "componentstatuses", "v1 ComponentStatus is deprecated in v1.19+"},
		{"flowcontrol.apiserver.k8s.io", "v1beta1", "flowschemas", "flowcontrol.apiserver.k8s.io/v1beta1 FlowSchema is deprecated in v1.23+, unavailable in v1.26+; use flowcontrol.apiserver.k8s.io/v1beta2 FlowSchema"},
	} {
		for _, gv := range groups {
			for i := range gv.Resources {
				if res := &gv.Resources[i]; gv.Group == c.group && gv.Version == c.version && res.Plural == c.plural {
					if got := (&request.Target{Ref: objects.Ref{Row: &catalog.Row{Resource: res}}}).Deprecation(); got != c.warning {
						t.Errorf("got %q, want %q", got, c.warning)
					}
				}
			}
		}
	}
}
