package controller

import (
	"strings"
	"testing"
)

func TestSelection(t *testing.T) {
	for _, c := range []struct{ selection, want string }{
		{"*", "clusterrole-aggregation csrapproving csrcleaner csrsigning garbagecollector leader-election-controller namespace pv-protection pvc-protection resourcequota root-ca-cert-publisher service-cidr-controller serviceaccount serviceaccount-token storage-version-migrator-controller validatingadmissionpolicy-status-controller"},
		{"*,tokencleaner,-clusterrole-aggregation,bootstrapsigner", "bootstrapsigner csrapproving csrcleaner csrsigning garbagecollector leader-election-controller namespace pv-protection pvc-protection resourcequota root-ca-cert-publisher service-cidr-controller serviceaccount serviceaccount-token storage-version-migrator-controller tokencleaner validatingadmissionpolicy-status-controller"},
		{"-*", ""},
		{"*,-*", ""},
		{"-*,namespace", "namespace"},
		{"*,-namespace", "clusterrole-aggregation csrapproving csrcleaner csrsigning garbagecollector leader-election-controller pv-protection pvc-protection resourcequota root-ca-cert-publisher service-cidr-controller serviceaccount serviceaccount-token storage-version-migrator-controller validatingadmissionpolicy-status-controller"},
		{"namespace,-namespace", "namespace"}, // the first word decides
		{"-namespace", ""},
		{"serviceaccount,namespace", "namespace serviceaccount"},
		{"", ""},
	} {
		var got []string
		for _, name := range Names() {
			if Enabled(strings.Split(c.selection, ","), name) {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s selects %v, want %s", c.selection, got, c.want)
		}
	}
}

func TestCheck(t *testing.T) {
	if err := Check([]string{"*", "-*", "namespace", "-garbagecollector", "podgc", "-deployment"}); err != nil {
		t.Error(err)
	}
	for _, word := range []string{"gc", "-gc", "", "-", "--namespace", "Namespace"} {
		if err := Check([]string{"*", word}); err == nil || !strings.HasPrefix(err.Error(), "--controllers: ") || !strings.Contains(err.Error(), "serviceaccount") {
			t.Errorf("%q: %v", word, err)
		}
	}
}
