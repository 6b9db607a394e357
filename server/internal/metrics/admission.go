package metrics

import (
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Admission is how long the admission plug-ins took, each and all together, under the names
// of 1.25. A nil one counts nothing.
type Admission struct{ timings []*Timing }

// Timing is the durations of one plug-in, or of all, before or after validation. A write
// meets some twenty, so noting one costs two additions. A nil one notes nothing.
type Timing struct {
	name, step string // the name is "" for all plug-ins
	cells      [len(admissionOperations)][2]timingCell
}

// timingCell is the durations for an operation, with the writes that were refused apart.
type timingCell struct {
	counts [len(timingBuckets) + 1]atomic.Int64 // of the durations in each bucket alone
	nanos  atomic.Int64                         // the sum
}

// admissionOperations are the operations by their numbers in admission.
var admissionOperations = [...]string{"", "CREATE", "UPDATE", "DELETE", "CONNECT"}

var timingBuckets = [...]time.Duration{5 * time.Millisecond, 25 * time.Millisecond, 100 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond}

var (
	pluginTimes = prometheus.NewDesc("apiserver_admission_controller_admission_duration_seconds", "How long each admission plug-in took.",
		[]string{"name", "operation", "rejected", "type"}, nil)
	stepTimes = prometheus.NewDesc("apiserver_admission_step_admission_duration_seconds",
		"How long all admission plug-ins took that change objects, or all that check them.", []string{"operation", "rejected", "type"}, nil)
	stepSums = prometheus.NewDesc("apiserver_admission_step_admission_duration_seconds_summary", "The same, without buckets.",
		[]string{"operation", "rejected", "type"}, nil)
)

// Timing adds the timing of a plug-in in a step, admit or validate; "" is for all plug-ins.
// All are added before the metrics are read.
func (a *Admission) Timing(name, step string) *Timing {
	if a == nil {
		return nil
	}
	t := &Timing{name: name, step: step}
	a.timings = append(a.timings, t)
	return t
}

// Note notes one duration, of an operation by its number.
func (t *Timing) Note(operation int, refused bool, took time.Duration) {
	if t == nil {
		return
	}
	cell, bucket := &t.cells[operation][0], 0
	if refused {
		cell = &t.cells[operation][1]
	}
	for bucket < len(timingBuckets) && took > timingBuckets[bucket] {
		bucket++
	}
	cell.counts[bucket].Add(1)
	cell.nanos.Add(int64(took))
}

// Since notes the duration since a time, with its error.
func (t *Timing) Since(begin time.Time, operation int, err *error) {
	t.Note(operation, *err != nil, time.Since(begin))
}

// Describe implements prometheus.Collector.
func (a *Admission) Describe(to chan<- *prometheus.Desc) {
	to <- pluginTimes
	to <- stepTimes
	to <- stepSums
}

// Collect implements prometheus.Collector.
func (a *Admission) Collect(to chan<- prometheus.Metric) {
	for _, t := range a.timings {
		for operation := range t.cells {
			for refused := range t.cells[operation] {
				labels := []string{admissionOperations[operation], strconv.FormatBool(refused == 1), t.step}
				t.cells[operation][refused].collect(to, t.name, labels)
			}
		}
	}
}

func (c *timingCell) collect(to chan<- prometheus.Metric, name string, labels []string) {
	buckets, total := map[float64]uint64{}, uint64(0)
	for i := range c.counts {
		total += uint64(c.counts[i].Load())
		if i < len(timingBuckets) {
			buckets[timingBuckets[i].Seconds()] = total
		}
	}
	sum := time.Duration(c.nanos.Load()).Seconds()
	switch {
	case total == 0:
	case name != "":
		to <- prometheus.MustNewConstHistogram(pluginTimes, total, sum, buckets, append([]string{name}, labels...)...)
	default:
		to <- prometheus.MustNewConstHistogram(stepTimes, total, sum, buckets, labels...)
		to <- prometheus.MustNewConstSummary(stepSums, total, sum, nil, labels...)
	}
}
