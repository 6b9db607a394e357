package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/capstan-dev/capstan/internal/store"
)

// storeFigures exposes the figures of a store as metrics.
type storeFigures struct{ stats func() store.Stats }

// storeFigure is one of its metrics.
type storeFigure struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*store.Stats) float64
}

func figure(name, help string, kind prometheus.ValueType, value func(*store.Stats) float64) storeFigure {
	return storeFigure{prometheus.NewDesc("capstan_store_"+name, help, nil, nil), kind, value}
}

var storeFigureTable = []storeFigure{
	figure("revision", "The newest revision.", prometheus.GaugeValue, func(s *store.Stats) float64 { return float64(s.Current) }),
	figure("oldest_revision", "The oldest revision that can be read, 0 for all.", prometheus.GaugeValue,
		func(s *store.Stats) float64 { return float64(s.Oldest) }),
	figure("disk_bytes", "Size of the store's files.", prometheus.GaugeValue, func(s *store.Stats) float64 { return float64(s.DiskBytes) }),
	figure("log_bytes", "Size of the log of writes that are not in sorted files yet.", prometheus.GaugeValue,
		func(s *store.Stats) float64 { return float64(s.LogBytes) }),
	figure("reserve_bytes", "Space set aside for a full disk, 0 when it is used.", prometheus.GaugeValue,
		func(s *store.Stats) float64 { return float64(s.ReserveBytes) }),
	figure("memtable_bytes", "Memory that holds the newest writes.", prometheus.GaugeValue, func(s *store.Stats) float64 { return float64(s.MemTableBytes) }),
	figure("cache_bytes", "Memory of the block cache.", prometheus.GaugeValue, func(s *store.Stats) float64 { return float64(s.CacheBytes) }),
	figure("cache_hits_total", "Blocks that were found in the block cache.", prometheus.CounterValue,
		func(s *store.Stats) float64 { return float64(s.CacheHits) }),
	figure("cache_misses_total", "Blocks that had to be read from files.", prometheus.CounterValue,
		func(s *store.Stats) float64 { return float64(s.CacheMisses) }),
	figure("compactions_total", "Compactions since the start.", prometheus.CounterValue, func(s *store.Stats) float64 { return float64(s.Compactions) }),
	figure("flushes_total", "Memtables written to files since the start.", prometheus.CounterValue, func(s *store.Stats) float64 { return float64(s.Flushes) }),
	figure("read_amplification", "Sorted runs that a read may look at.", prometheus.GaugeValue, func(s *store.Stats) float64 { return float64(s.ReadAmp) }),
	figure("open_readers", "Snapshots that are being read.", prometheus.GaugeValue, func(s *store.Stats) float64 { return float64(s.OpenReaders) }),
	figure("healthy", "1 unless the store has stopped to take writes.", prometheus.GaugeValue, func(s *store.Stats) float64 {
		if s.Unhealthy != "" {
			return 0
		}
		return 1
	}),
}

// Describe implements prometheus.Collector.
func (storeFigures) Describe(to chan<- *prometheus.Desc) {
	for i := range storeFigureTable {
		to <- storeFigureTable[i].desc
	}
}

// Collect implements prometheus.Collector.
func (f storeFigures) Collect(to chan<- prometheus.Metric) {
	stats := f.stats()
	for i := range storeFigureTable {
		x := &storeFigureTable[i]
		to <- prometheus.MustNewConstMetric(x.desc, x.kind, x.value(&stats))
	}
}
