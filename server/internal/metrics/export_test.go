package metrics

import "github.com/prometheus/client_golang/prometheus"

// Descriptions are those of all metrics of a server, also of those without a value yet.
func Descriptions(others ...prometheus.Collector) (all []*prometheus.Desc) {
	to := make(chan *prometheus.Desc)
	etcd := NewEtcd()
	go func() {
		defer close(to)
		for _, c := range append(others, New(Sources{Impersonation: true}).registry, etcd.took, etcd.sizes, NewSpans(), NewExternalJWT(), NewAllocators(AllocatorsConfig{true, true})) {
			c.Describe(to)
		}
		r := NewReloads("encryption_config_controller", nil)
		for _, c := range []prometheus.Collector{r.total, r.last, r.info} {
			c.Describe(to)
		}
	}()
	for d := range to {
		all = append(all, d)
	}
	return all
}
