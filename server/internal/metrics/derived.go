package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// derivedDurations are the durations of requests under the names by which rules for
// service levels know them, in 1.25 and in later releases. Nothing is measured for them.
type derivedDurations struct{ from *prometheus.HistogramVec }

// leastLevel is their least bucket, in seconds.
const leastLevel = 0.05

var (
	levelLabels = []string{"component", "group", "resource", "scope", "subresource", "verb", "version"}
	levelNames  = []*prometheus.Desc{
		prometheus.NewDesc("apiserver_request_slo_duration_seconds", "How long requests took, in the buckets of service levels.", levelLabels, nil),
		prometheus.NewDesc("apiserver_request_sli_duration_seconds", "How long requests took, in the buckets of service levels.", levelLabels, nil),
	}
)

// Describe implements prometheus.Collector.
func (d derivedDurations) Describe(to chan<- *prometheus.Desc) {
	for _, name := range levelNames {
		to <- name
	}
}

// Collect implements prometheus.Collector.
func (d derivedDurations) Collect(to chan<- prometheus.Metric) {
	all := make(chan prometheus.Metric)
	go func() {
		defer close(all)
		d.from.Collect(all)
	}()
	type level struct {
		count   uint64
		sum     float64
		buckets map[float64]uint64
	}
	levels := map[[7]string]*level{}
	for m := range all {
		var text dto.Metric
		if m.Write(&text) != nil {
			continue
		}
		var key [7]string
		for i, name := range levelLabels {
			for _, l := range text.Label {
				if l.GetName() == name {
					key[i] = l.GetValue()
				}
			}
		}
		v := levels[key]
		if v == nil {
			v = &level{buckets: map[float64]uint64{}}
			levels[key] = v
		}
		v.count += text.Histogram.GetSampleCount()
		v.sum += text.Histogram.GetSampleSum()
		for _, b := range text.Histogram.Bucket {
			if b.GetUpperBound() >= leastLevel {
				v.buckets[b.GetUpperBound()] += b.GetCumulativeCount()
			}
		}
	}
	for key, v := range levels {
		for _, name := range levelNames {
			to <- prometheus.MustNewConstHistogram(name, v.count, v.sum, v.buckets, key[:]...)
		}
	}
}
