package metrics

import "github.com/prometheus/client_golang/prometheus"

// Availability is the metrics of extension servers, by the names of their API services,
// which administrators make.
type Availability struct {
	unavailable *prometheus.GaugeVec
	turned      *prometheus.CounterVec
}

func newAvailability() Availability {
	return Availability{
		unavailable: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "aggregator_unavailable_apiservice",
			Help: "1 for an API service whose extension server is not available, 0 for one whose is."}, []string{"name"}),
		turned: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "aggregator_unavailable_apiservice_total",
			Help: "How often the extension server of an API service became unavailable, by the reason."}, []string{"name", "reason"}),
	}
}

// Checked notes the result of a check.
func (a Availability) Checked(name string, available bool) {
	value := 1.0
	if available {
		value = 0
	}
	a.unavailable.WithLabelValues(name).Set(value)
}

// Lost notes that a server has become unavailable.
func (a Availability) Lost(name, reason string) { a.turned.WithLabelValues(name, reason).Inc() }

// Gone ends the metrics of an API service.
func (a Availability) Gone(name string) {
	a.unavailable.DeleteLabelValues(name)
	a.turned.DeletePartialMatch(prometheus.Labels{"name": name})
}
