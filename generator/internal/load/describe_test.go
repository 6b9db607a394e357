package load

import "testing"

func TestRepeats(t *testing.T) {
	for _, c := range []struct {
		text, name, owner string
		want              bool
	}{
		{"The copies of the field.", "copies", "OrderSpec", true},
		{"Copy", "copies", "OrderSpec", true},
		{"Name of the role", "name", "RoleRef", true},
		{"The pod's spec.", "spec", "Pod", true},
		{"Specification of the pod.", "spec", "Pod", true},
		{"Pod IPs.", "podIPs", "PodStatus", true},
		{"Address to bind, or empty.", "bindAddress", "Config", false},
		{"How many copies are printed.", "copies", "OrderSpec", false},
		{"CSI drivers", "", "CSIDriver", true},
		{"", "name", "Pod", true},
		{"Größe", "size", "Shoe", false},
	} {
		if got := repeats(c.text, c.name, c.owner); got != c.want {
			t.Errorf("%q of %s.%s repeats: %v", c.text, c.owner, c.name, got)
		}
	}
}

func TestKindWords(t *testing.T) {
	for kind, want := range map[string]string{"Order": "order", "ConfigMap": "config map", "CSIDriver": "CSI driver", "ClusterCIDR": "cluster CIDR"} {
		if got := kindWords(kind); got != want {
			t.Errorf("the words of %s are %q, not %q", kind, got, want)
		}
	}
}
