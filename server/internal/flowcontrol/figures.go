package flowcontrol

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/capstan-dev/capstan/internal/fairness"
)

// figure describes a metric of levels; all have the names of kube-apiserver.
func figure(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("apiserver_flowcontrol_"+name, help, append([]string{"priority_level"}, labels...), nil)
}

var (
	rejectedFigure = figure("rejected_requests_total", "Requests that were refused, by the reason.", "flow_schema", "reason")
	dispatched     = figure("dispatched_requests_total", "Requests that were let in.", "flow_schema")
	inQueue        = figure("current_inqueue_requests", "Requests that wait now.", "flow_schema")
	executing      = figure("current_executing_requests", "Requests that run now; of watches, those that begin.", "flow_schema")
	inUse          = figure("request_concurrency_in_use", "Seats of the requests that run now.", "flow_schema")
	executingSeats = figure("current_executing_seats", "Seats of the requests that run now.", "flow_schema")
	unaccommodated = figure("request_dispatch_no_accommodation_total", "How often the next request was too wide for the free seats.", "flow_schema")
	lengths        = figure("request_queue_length_after_enqueue", "Lengths of queues with the new request.", "flow_schema")
	waits          = figure("request_wait_duration_seconds", "How long requests waited, whether they ran then or not.", "flow_schema", "execute")
	runs           = figure("request_execution_seconds", "How long requests ran; of watches, how long they took to begin.", "flow_schema", "type")
	widths         = figure("work_estimated_seats", "Estimated widths of requests.", "flow_schema")
	watchCounts    = figure("watch_count_samples", "Watches of the objects that are written.", "flow_schema")
	concurrency    = figure("request_concurrency_limit", "Nominal seats of the level.")
	nominalSeats   = figure("nominal_limit_seats", "Nominal seats of the level.")
	lowerLimit     = figure("lower_limit_seats", "Seats that the level does not lend.")
	upperLimit     = figure("upper_limit_seats", "Seats of the level with all that it may borrow.")
	currentLimit   = figure("current_limit_seats", "Seats of the level, borrowed and lent ones counted.")
	progress       = figure("current_r", "The progress of the level, in seat-seconds for each queue.")
	lastProgress   = figure("dispatch_r", "The progress when the last request began.")
	lastStart      = figure("latest_s", "The virtual start of the last request.")
	nextStarts     = figure("next_s_bounds", "The least and the greatest virtual start of the next requests of all queues.", "bound")
	nextDiscounted = figure("next_discounted_s_bounds", "The same, less the assumed rest of the running requests.", "bound")
	seatUse        = figure("priority_level_seat_utilization", "Each nanosecond: the part of the seats in use.", "phase")
	requestUse     = figure("priority_level_request_utilization",
		"Each nanosecond: running requests by seats, and waiting requests by places in queues.", "phase")
	crowdUse = prometheus.NewDesc("apiserver_flowcontrol_read_vs_write_current_requests",
		"Each nanosecond: running and waiting requests of all levels, by seats and by places in queues.", []string{"phase", "request_kind"}, nil)
	waitingRequests = prometheus.NewDesc("apiserver_current_inqueue_requests", "Requests that wait now.", []string{"request_kind"}, nil)
)

// Describe implements prometheus.Collector.
func (c *Control) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{rejectedFigure, dispatched, inQueue, executing, inUse, executingSeats, unaccommodated, lengths, waits,
		runs, widths, watchCounts, concurrency, nominalSeats, lowerLimit, upperLimit, currentLimit, progress, lastProgress, lastStart,
		nextStarts, nextDiscounted, seatUse, requestUse, crowdUse, waitingRequests} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c *Control) Collect(to chan<- prometheus.Metric) {
	var waiting [2]int // reading, writing
	for _, l := range c.now.Load().levels {
		f := figures{to, l.name}
		l.share.Level.Visit(func(_, _ int, _ time.Time, w *fairness.Work) {
			if w.Writes {
				waiting[1]++
			} else {
				waiting[0]++
			}
		})
		f.collect(l)
	}
	for i, kind := range []string{"readOnly", "mutating"} {
		to <- prometheus.MustNewConstMetric(waitingRequests, prometheus.GaugeValue, float64(waiting[i]), kind)
		ran, waited := c.crowd.Histograms(kind == "mutating")
		sendHistogram(to, crowdUse, &ran, "executing", kind)
		sendHistogram(to, crowdUse, &waited, "waiting", kind)
	}
}

// figures sends the metrics of one level.
type figures struct {
	to    chan<- prometheus.Metric
	level string
}

func (f figures) number(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
	f.to <- prometheus.MustNewConstMetric(d, kind, v, append([]string{f.level}, labels...)...)
}

func (f figures) histogram(d *prometheus.Desc, h *fairness.Histogram, labels ...string) {
	sendHistogram(f.to, d, h, append([]string{f.level}, labels...)...)
}

// sendHistogram sends a histogram, unless it is empty.
func sendHistogram(to chan<- prometheus.Metric, d *prometheus.Desc, h *fairness.Histogram, labels ...string) {
	buckets, sum := make(map[float64]uint64, len(h.Bounds)), uint64(0)
	for i, bound := range h.Bounds {
		sum += h.Counts[i]
		buckets[bound] = sum
	}
	if sum += h.Counts[len(h.Bounds)]; sum > 0 {
		to <- prometheus.MustNewConstHistogram(d, sum, h.Sum, buckets, labels...)
	}
}

func (f figures) collect(l *level) {
	tallies := map[string]fairness.Tally{}
	state := l.share.Level.Inspect(func() {
		l.tallies.each(func(schema string, t *fairness.Tally) { tallies[schema] = t.Clone() })
	})
	gauge := prometheus.GaugeValue
	for schema, t := range tallies {
		f.tally(schema, &t)
	}
	f.number(nominalSeats, gauge, float64(l.share.Nominal))
	f.number(lowerLimit, gauge, float64(l.share.Least))
	f.number(upperLimit, gauge, float64(l.share.Most))
	f.number(currentLimit, gauge, float64(state.Seats))
	if l.rules.Exempt {
		return
	}
	f.number(concurrency, gauge, float64(l.share.Nominal))
	f.number(progress, gauge, state.Progress)
	f.number(lastProgress, gauge, state.Last.Progress)
	f.number(lastStart, gauge, state.Last.Start)
	if len(state.Due) > 0 {
		f.number(nextStarts, gauge, slices.Min(state.Due), "min")
		f.number(nextStarts, gauge, slices.Max(state.Due), "max")
		f.number(nextDiscounted, gauge, slices.Min(state.Discounted), "min")
		f.number(nextDiscounted, gauge, slices.Max(state.Discounted), "max")
	}
	f.histogram(seatUse, &state.SeatUse, "executing")
	f.histogram(requestUse, &state.RunningUse, "executing")
	f.histogram(requestUse, &state.WaitUse, "waiting")
}

func (f figures) tally(schema string, t *fairness.Tally) {
	gauge, counter := prometheus.GaugeValue, prometheus.CounterValue
	if t.Dispatched == 0 && len(t.Refused) == 0 && t.Waiting == 0 {
		return
	}
	for reason, n := range t.Refused {
		f.number(rejectedFigure, counter, float64(n), schema, reason.Error())
	}
	f.number(dispatched, counter, float64(t.Dispatched), schema)
	f.number(inQueue, gauge, float64(t.Waiting), schema)
	f.number(executing, gauge, float64(t.Running), schema)
	f.number(inUse, gauge, float64(t.Seats), schema)
	f.number(executingSeats, gauge, float64(t.Seats), schema)
	f.number(unaccommodated, counter, float64(t.Unaccommodated), schema)
	f.histogram(lengths, &t.Lengths, schema)
	for i, text := range []string{"false", "true"} {
		f.histogram(waits, &t.Waits[i], schema, text)
	}
	for i, text := range []string{"regular", "watch"} {
		f.histogram(runs, &t.Runs[i], schema, text)
	}
	f.histogram(widths, &t.Widths, schema)
	f.histogram(watchCounts, &t.Watchers, schema)
}
