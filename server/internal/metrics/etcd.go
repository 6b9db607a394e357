package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Etcd are the metrics of an etcd that keeps the objects, with the names and bounds of kube-apiserver.
type Etcd struct {
	took  *prometheus.HistogramVec
	sizes *prometheus.GaugeVec
}

// NewEtcd makes them.
func NewEtcd() *Etcd {
	return &Etcd{prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "etcd_request_duration_seconds", Help: "Time of requests to etcd, by their operation and the resource that they are about.",
		Buckets: []float64{0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60},
	}, []string{"operation", "type"}), prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "etcd_db_total_size_in_bytes", Help: "Size of the file of the database of each member of etcd, when the member was asked last.",
	}, []string{"endpoint"})}
}

// Request counts a request: its operation, and the resource that it is about; "" for requests that are
// about all.
func (m *Etcd) Request(operation, resource string, took time.Duration) {
	m.took.WithLabelValues(operation, resource).Observe(took.Seconds())
}

// Size notes the bytes of the database of a member, which its URL names.
func (m *Etcd) Size(member string, bytes int64) { m.sizes.WithLabelValues(member).Set(float64(bytes)) }

// Describe implements prometheus.Collector.
func (m *Etcd) Describe(to chan<- *prometheus.Desc) { m.took.Describe(to); m.sizes.Describe(to) }

// Collect implements prometheus.Collector.
func (m *Etcd) Collect(to chan<- prometheus.Metric) { m.took.Collect(to); m.sizes.Collect(to) }
