package addresses

import (
	"strings"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/internal/document"
	generated "github.com/capstan-dev/capstan/internal/gen/catalog"
	"github.com/capstan-dev/capstan/internal/yaml"
	"github.com/capstan-dev/capstan/server/internal/kinds/conversion"
	"github.com/capstan-dev/capstan/server/internal/kinds/policy"
)

// serviceSpec decodes the spec of a service, with its defaults, and finds its rules.
func serviceSpec(t *testing.T, spec string) (document.Value, *document.Hooks) {
	t.Helper()
	text, err := yaml.ToJSON([]byte("apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {" + spec + "}"))
	if err != nil {
		t.Fatal(err)
	}
	for _, gv := range generated.New(policy.New(time.Now), conversion.Hooks{}) {
		if gv.APIVersion() != "v1" {
			continue
		}
		decoder := document.Decoder{Table: gv.Table, Defaults: gv.Defaults}
		doc, _, err := decoder.Decode(gv.Table.Root("Service"), text)
		if err != nil {
			t.Fatal(err)
		}
		return doc.Root().Get("spec"), &gv.Validation
	}
	panic("no group version v1")
}

func TestFamilies(t *testing.T) {
	const (
		four = "IPv4"
		both = "IPv4 IPv6"
		xis  = "IPv6 IPv4"
	)
	web := "ports: [{port: 80}], selector: {a: b}"
	single := web + ", clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1], ipFamilies: [IPv4], ipFamilyPolicy: SingleStack"
	dual := func(policy string) string {
		return web + ", clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1, 'fd00::1'], ipFamilies: [IPv4, IPv6], ipFamilyPolicy: " + policy
	}
	for _, c := range []struct {
		name, before, spec string
		configured         string
		want               string // families, policy and addresses; or the causes
	}{
		{"nothing said", "", web, four, "IPv4 SingleStack"},
		{"nothing said, two ranges", "", web, both, "IPv4 SingleStack"},
		{"the other default", "", web, xis, "IPv6 SingleStack"},
		{"both preferred", "", web + ", ipFamilyPolicy: PreferDualStack", both, "IPv4,IPv6 PreferDualStack"},
		{"both preferred, one there", "", web + ", ipFamilyPolicy: PreferDualStack", four, "IPv4 PreferDualStack"},
		{"both required", "", web + ", ipFamilyPolicy: RequireDualStack", xis, "IPv6,IPv4 RequireDualStack"},
		{"both required, one there", "", web + ", ipFamilyPolicy: RequireDualStack", four, "spec.ipFamilyPolicy: Invalid"},
		{"the second first", "", web + ", ipFamilies: [IPv6], ipFamilyPolicy: PreferDualStack", both, "IPv6,IPv4 PreferDualStack"},
		{"a family that is not there", "", web + ", ipFamilies: [IPv6]", four, "spec.ipFamilies[0]: Invalid"},
		{"a family that does not exist", "", web + ", ipFamilies: [IPv5]", four, "spec.ipFamilies[0]: NotSupported"},
		{"a policy that does not exist", "", web + ", ipFamilyPolicy: Some", four, "spec.ipFamilyPolicy: NotSupported"},
		{"two families, one allowed", "", web + ", ipFamilies: [IPv4, IPv6]", both, "spec.ipFamilyPolicy: Invalid"},
		{"two addresses, one allowed", "", web + ", clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1, 'fd00::1']", both, "spec.ipFamilyPolicy: Invalid"},
		{"two addresses", "", web + ", clusterIP: 'fd00::1', clusterIPs: ['fd00::1', 10.0.0.1], ipFamilyPolicy: RequireDualStack", both, "IPv6,IPv4 RequireDualStack fd00::1,10.0.0.1"},
		{"an address of no family there", "", web + ", clusterIP: 'fd00::1', clusterIPs: ['fd00::1']", four, "spec.clusterIPs[0]: Invalid"},
		{"an address of another family", "", web + ", clusterIP: 'fd00::1', clusterIPs: ['fd00::1'], ipFamilies: [IPv4]", both, "spec.clusterIPs[0]: Invalid"},
		{"no address", "", web + ", clusterIP: x, clusterIPs: [x]", four, "spec.clusterIPs[0]: Invalid"},
		{"three addresses", "", web + ", clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1, 'fd00::1', 10.0.0.2]", both, "spec.clusterIPs: Invalid"},
		{"the list alone", "", web + ", clusterIPs: [10.0.0.1]", both, "spec.clusterIPs: Invalid"},
		{"none and another", "", web + ", clusterIP: None, clusterIPs: [None, 10.0.0.1]", both, "spec.clusterIPs: Invalid"},
		{"another first address", "", web + ", clusterIP: 10.0.0.1, clusterIPs: [10.0.0.2]", both, "spec.clusterIPs: Invalid"},
		{"two addresses of a family", "", web + ", clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1, 10.0.0.2]", both, "spec.clusterIPs: Invalid"},
		{"a family twice", "", web + ", ipFamilies: [IPv4, IPv4]", both, "spec.ipFamilies[1]: Duplicate"},
		{"headless", "", web + ", clusterIP: None, clusterIPs: [None]", four, "IPv4 SingleStack None"},
		{"headless, both preferred", "", web + ", clusterIP: None, clusterIPs: [None], ipFamilyPolicy: PreferDualStack", both, "IPv4,IPv6 PreferDualStack None"},
		{"headless without selector", "", "clusterIP: None, clusterIPs: [None]", four, "IPv4,IPv6 RequireDualStack None"},
		{"headless without selector, one family", "", "clusterIP: None, clusterIPs: [None], ipFamilies: [IPv6], ipFamilyPolicy: SingleStack", four, "IPv6 SingleStack None"},
		{"a name", "", "type: ExternalName, externalName: a.b", four, ""},

		{"from a name", "type: ExternalName, externalName: a.b", web, four, "IPv4 SingleStack"},
		{"to a name", single, "type: ExternalName, externalName: a.b", four, ""},
		{"as it was", single, single, both, "IPv4 SingleStack 10.0.0.1"},
		{"families left out", single, web + ", clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1]", both, "IPv4 SingleStack 10.0.0.1"},
		{"upgrade", single, strings.Replace(single, "SingleStack", "PreferDualStack", 1), both, "IPv4,IPv6 PreferDualStack 10.0.0.1"},
		{"upgrade without a range", single, strings.Replace(single, "SingleStack", "PreferDualStack", 1), four, "IPv4 PreferDualStack 10.0.0.1"},
		{"upgrade by force without a range", single, strings.Replace(single, "SingleStack", "RequireDualStack", 1), four, "spec.ipFamilyPolicy: Invalid"},
		{"downgrade by policy", dual("RequireDualStack"), dual("SingleStack"), both, "IPv4 SingleStack 10.0.0.1"},
		{"downgrade by address alone", dual("RequireDualStack"), strings.Replace(dual("RequireDualStack"), ", 'fd00::1'", "", 1), both, "spec.ipFamilyPolicy: Invalid"},
		{"downgrade by family alone", dual("PreferDualStack"), strings.Replace(dual("PreferDualStack"), "IPv4, IPv6", "IPv4", 1), both, "spec.ipFamilyPolicy: Invalid"},
		{"downgrade by all", dual("PreferDualStack"), single, both, "IPv4 SingleStack 10.0.0.1"},
		{"preferred, and the cluster lost a range", dual("PreferDualStack"), dual("PreferDualStack"), four, "IPv4,IPv6 PreferDualStack 10.0.0.1,fd00::1"},
		{"required, and the cluster lost a range", dual("RequireDualStack"), dual("RequireDualStack"), four, "spec.ipFamilyPolicy: Invalid; spec.ipFamilies[1]: Invalid"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := document.Value{}
			if c.before != "" {
				before, _ = serviceSpec(t, c.before)
			}
			spec, rules := serviceSpec(t, c.spec)
			if wrong := setFamilies(spec, before, strings.Fields(c.configured), rules); len(wrong) > 0 {
				var got []string
				for _, w := range wrong {
					got = append(got, w.Field+": "+strings.TrimPrefix(w.Reason, "FieldValue"))
				}
				if got := strings.Join(got, "; "); got != c.want {
					t.Errorf("got %q, want %q", got, c.want)
				}
				return
			}
			list := func(name string) string {
				var all []string
				for _, v := range spec.Get(name).Elements() {
					all = append(all, v.Text())
				}
				return strings.Join(all, ",")
			}
			if got := strings.TrimSpace(list("ipFamilies") + " " + spec.Get("ipFamilyPolicy").Text() + " " + list("clusterIPs")); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
