package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Certificates shows when the certificates of a server end.
type Certificates struct {
	ends func() map[string]time.Time
	desc *prometheus.Desc
}

// NewCertificates makes the gauge of the ends, by the purpose of the certificates. They are asked for when
// the metrics are, since certificates change while a server runs.
func NewCertificates(ends func() map[string]time.Time) *Certificates {
	return &Certificates{ends, prometheus.NewDesc("capstan_certificate_expiration_timestamp_seconds", "When a certificate of the server ends, by its purpose; "+
		"of several for one purpose the first. Authorities are clients, proxies, node-authorities and own-authority.", []string{"certificate"}, nil)}
}

// Describe implements prometheus.Collector.
func (c *Certificates) Describe(to chan<- *prometheus.Desc) { to <- c.desc }

// Collect implements prometheus.Collector.
func (c *Certificates) Collect(to chan<- prometheus.Metric) {
	for purpose, end := range c.ends() {
		to <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(end.Unix()), purpose)
	}
}
