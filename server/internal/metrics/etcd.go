package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// NewEtcd makes the metrics of requests to etcd, with the names and bounds of kube-apiserver. The
// function counts one request: its operation, and the resource that it is about; "" for requests that
// are about all.
func NewEtcd() (prometheus.Collector, func(operation, resource string, took time.Duration)) {
	took := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "etcd_request_duration_seconds", Help: "Time of requests to etcd, by their operation and the resource that they are about.",
		Buckets: []float64{0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60},
	}, []string{"operation", "type"})
	return took, func(operation, resource string, d time.Duration) {
		took.WithLabelValues(operation, resource).Observe(d.Seconds())
	}
}
