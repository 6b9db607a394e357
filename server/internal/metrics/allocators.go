package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/capstan-dev/capstan/internal/allocate"
)

// Allocators is the metrics of the addresses and node ports of services, under the names of kube-apiserver. It implements
// allocate.Figures.
type Allocators struct {
	uses                     func() []allocate.Use
	ports, timed             bool
	addresses, addressErrors *prometheus.CounterVec
	times                    *prometheus.HistogramVec
	nodePorts, portErrors    *prometheus.CounterVec
}

// AllocatorsConfig says which of the metrics a release has.
type AllocatorsConfig struct {
	Ports bool // those of node ports
	Times bool // how long allocations of addresses take
}

// NewAllocators makes the metrics.
func NewAllocators(cfg AllocatorsConfig) *Allocators {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	return &Allocators{
		ports: cfg.Ports, timed: cfg.Times,
		addresses: counter("kube_apiserver_clusterip_allocator_allocation_total",
			"Addresses that services were given, by the range, and whether they named them (static) or not (dynamic).", "cidr", "scope"),
		addressErrors: counter("kube_apiserver_clusterip_allocator_allocation_errors_total",
			"Addresses that services were not given, since they are in use or in no range, or the range is full.", "cidr", "scope"),
		times: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "kube_apiserver_clusterip_allocator_allocation_duration_seconds",
			Help: "How long the search for an address took, by the range.", Buckets: prometheus.DefBuckets}, []string{"cidr"}),
		nodePorts: counter("kube_apiserver_nodeport_allocator_allocation_total",
			"Node ports that services were given, by whether they named them (static) or not (dynamic).", "scope"),
		portErrors: counter("kube_apiserver_nodeport_allocator_allocation_errors_total",
			"Node ports that services were not given, since they are in use or not in the range, or the range is full.", "scope"),
	}
}

// The figures that are read when the metrics are.
var (
	addressesUsed = prometheus.NewDesc("kube_apiserver_clusterip_allocator_allocated_ips", "Addresses of a range that are in use.", []string{"cidr"}, nil)
	addressesFree = prometheus.NewDesc("kube_apiserver_clusterip_allocator_available_ips", "Addresses of a range that are free.", []string{"cidr"}, nil)
	portsUsed     = prometheus.NewDesc("kube_apiserver_nodeport_allocator_allocated_ports", "Node ports that are in use.", nil, nil)
	portsFree     = prometheus.NewDesc("kube_apiserver_nodeport_allocator_available_ports", "Node ports that are free.", nil, nil)
)

// Follow has the metrics show the use of the ranges.
func (a *Allocators) Follow(uses func() []allocate.Use) { a.uses = uses }

// Allocated implements allocate.Figures.
func (a *Allocators) Allocated(from string, by allocate.Scope, took time.Duration) {
	if from == "" {
		a.nodePorts.WithLabelValues(string(by)).Inc()
		return
	}
	a.addresses.WithLabelValues(from, string(by)).Inc()
	a.times.WithLabelValues(from).Observe(took.Seconds())
}

// Failed implements allocate.Figures.
func (a *Allocators) Failed(from string, by allocate.Scope) {
	if from == "" {
		a.portErrors.WithLabelValues(string(by)).Inc()
		return
	}
	a.addressErrors.WithLabelValues(from, string(by)).Inc()
}

// counters are the metrics that the release has.
func (a *Allocators) counters() []prometheus.Collector {
	all := []prometheus.Collector{a.addresses, a.addressErrors}
	if a.timed {
		all = append(all, a.times)
	}
	if a.ports {
		all = append(all, a.nodePorts, a.portErrors)
	}
	return all
}

// Describe implements prometheus.Collector.
func (a *Allocators) Describe(to chan<- *prometheus.Desc) {
	for _, c := range a.counters() {
		c.Describe(to)
	}
	to <- addressesUsed
	to <- addressesFree
	if a.ports {
		to <- portsUsed
		to <- portsFree
	}
}

// Collect implements prometheus.Collector.
func (a *Allocators) Collect(to chan<- prometheus.Metric) {
	for _, c := range a.counters() {
		c.Collect(to)
	}
	for _, u := range a.uses() {
		switch {
		case u.From != "":
			to <- prometheus.MustNewConstMetric(addressesUsed, prometheus.GaugeValue, u.Used, u.From)
			to <- prometheus.MustNewConstMetric(addressesFree, prometheus.GaugeValue, u.Free, u.From)
		case a.ports:
			to <- prometheus.MustNewConstMetric(portsUsed, prometheus.GaugeValue, u.Used)
			to <- prometheus.MustNewConstMetric(portsFree, prometheus.GaugeValue, u.Free)
		}
	}
}
