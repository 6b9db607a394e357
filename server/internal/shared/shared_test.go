package shared

import (
	"strings"
	"testing"
)

// TestEventServers: overrides that would not do what they say are refused, with the remedy.
func TestEventServers(t *testing.T) {
	for _, c := range []struct {
		overrides []string
		want      string // the URLs
		wrong     string
	}{
		{},
		{overrides: []string{"/events#https://a:2379;http://b:2379"}, want: "https://a:2379 http://b:2379"},
		{overrides: []string{"https://a:2379"}, wrong: "write one like /events#https://10.0.0.9:2379"},
		{overrides: []string{"events#https://a:2379"}, wrong: "not of the form GROUP/RESOURCE#URL;URL"},
		{overrides: []string{"events.k8s.io/events#https://a:2379"}, wrong: "write /events#https://a:2379"},
		{overrides: []string{"apps/deployments#https://a:2379"}, wrong: "apps/deployments cannot lie in an etcd of their own, only /events can"},
		{overrides: []string{"/events#https://a:2379", "/events#https://b:2379"}, wrong: "separate the URLs of one etcd with a semicolon"},
		{overrides: []string{"/events#a:2379"}, wrong: `"a:2379" is not the URL of a member of etcd`},
		{overrides: []string{"/events#"}, wrong: `"" is not the URL of a member of etcd`},
	} {
		s := Settings{EtcdServersOverrides: c.overrides}
		urls, err := s.EventServers()
		if have := strings.Join(urls, " "); have != c.want {
			t.Errorf("%v: %s", c.overrides, have)
		}
		if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%v: %v", c.overrides, err)
		}
	}
}
