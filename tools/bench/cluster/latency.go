package main

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"time"
)

// observation has the metrics of the server and of its clients at one moment.
type observation struct {
	requests series // of the server
	clients  series // buckets of the durations of requests
}

// observe reads the metrics.
func (c *cluster) observe(ctx context.Context) (o observation, err error) {
	if o.requests, err = c.client.scrape(ctx, address, "apiserver_request_total"); err != nil {
		return o, err
	}
	o.clients = series{}
	for _, url := range []string{"https://127.0.0.1:10257", "https://127.0.0.1:10259"} {
		var of series
		err = await(ctx, 200*time.Millisecond, func() (done bool, _ error) { // until the process listens
			of, err = c.client.scrape(ctx, url, "rest_client_request_duration_seconds_bucket")
			return err == nil, nil
		})
		if err != nil {
			return o, err
		}
		for labels, n := range of {
			o.clients[labels] += n
		}
	}
	return o, nil
}

// latency is that of a verb, from the side of controllers and scheduler.
type latency struct {
	Requests float64 `json:"requests"`
	P50      float64 `json:"p50"` // seconds
	P99      float64 `json:"p99"`
}

// latencies are those of a phase, by the methods of HTTP.
type latencies map[string]latency

// bucket is one of a histogram: how many requests took at most so long.
type bucket struct{ most, requests float64 }

// latenciesOf are those of the requests between two observations.
func latenciesOf(before, after series) latencies {
	buckets := map[string]map[float64]float64{}
	for labels, n := range after {
		most, err := strconv.ParseFloat(label(labels, "le"), 64)
		if err != nil {
			continue
		}
		verb := label(labels, "verb")
		if buckets[verb] == nil {
			buckets[verb] = map[float64]float64{}
		}
		buckets[verb][most] += n - before[labels]
	}
	all := latencies{}
	for verb, of := range buckets {
		var sorted []bucket
		for most, n := range of {
			sorted = append(sorted, bucket{most, n})
		}
		slices.SortFunc(sorted, func(a, b bucket) int { return cmp.Compare(a.most, b.most) })
		if total := sorted[len(sorted)-1].requests; total > 0 {
			all[verb] = latency{total, quantile(sorted, 0.5), quantile(sorted, 0.99)}
		}
	}
	return all
}

// quantile is a quantile of a histogram with cumulative buckets, evenly spread within the bucket.
func quantile(sorted []bucket, q float64) float64 {
	rank := q * sorted[len(sorted)-1].requests
	from := bucket{}
	for _, b := range sorted {
		if b.requests >= rank {
			if math.IsInf(b.most, 1) || b.requests == from.requests {
				return from.most
			}
			return from.most + (b.most-from.most)*(rank-from.requests)/(b.requests-from.requests)
		}
		from = b
	}
	return from.most
}
