package metrics

import (
	"crypto/sha256"
	"fmt"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Reloads counts the reloads of one configuration file.
type Reloads struct {
	server string // a hash
	now    func() time.Time
	total  *prometheus.CounterVec
	last   *prometheus.GaugeVec
	info   *prometheus.GaugeVec
}

// NewReloads makes the metrics of a subsystem with the names of kube-apiserver.
func NewReloads(subsystem string, now func() time.Time) *Reloads {
	host, _ := os.Hostname() // a server without one has a hash too
	options := func(name, help string) prometheus.Opts {
		return prometheus.Opts{Namespace: "apiserver", Subsystem: subsystem, Name: name, Help: help}
	}
	return &Reloads{
		server: hashOf([]byte("kube-apiserver-" + host)), now: now,
		total: prometheus.NewCounterVec(prometheus.CounterOpts(options("automatic_reloads_total",
			"Changes of the configuration file that were put to use, and those that could not be.")), []string{"status", "apiserver_id_hash"}),
		last: prometheus.NewGaugeVec(prometheus.GaugeOpts(options("automatic_reload_last_timestamp_seconds", "The time of the last reload.")),
			[]string{"status", "apiserver_id_hash"}),
		info: prometheus.NewGaugeVec(prometheus.GaugeOpts(options("last_config_info", "The hash of the configuration file that was last put to use.")),
			[]string{"apiserver_id_hash", "hash"}),
	}
}

func hashOf(text []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(text)) }

// Use notes the text that is in use.
func (r *Reloads) Use(text []byte) {
	r.info.Reset()
	r.info.WithLabelValues(r.server, hashOf(text)).Set(1)
}

// Count counts a reload of a text that failed with an error, or is in use.
func (r *Reloads) Count(text []byte, err error) {
	status := "success"
	if err != nil {
		status = "failure"
	} else {
		r.Use(text)
	}
	r.total.WithLabelValues(status, r.server).Inc()
	r.last.WithLabelValues(status, r.server).Set(float64(r.now().UnixMilli()) / 1000)
}

// Describe implements prometheus.Collector.
func (r *Reloads) Describe(to chan<- *prometheus.Desc) {
	r.total.Describe(to)
	r.last.Describe(to)
	r.info.Describe(to)
}

// Collect implements prometheus.Collector.
func (r *Reloads) Collect(to chan<- prometheus.Metric) {
	r.total.Collect(to)
	r.last.Collect(to)
	r.info.Collect(to)
}
