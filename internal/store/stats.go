package store

import "errors"

// Stats are figures for people and metrics. Sizes are in bytes.
type Stats struct {
	ID            string `json:"id"`            // of the store and its backups
	Current       uint64 `json:"current"`       // newest revision
	Oldest        uint64 `json:"oldest"`        // oldest revision that can be read, 0 for all
	DiskBytes     int64  `json:"diskBytes"`     // files of the store
	LogBytes      int64  `json:"logBytes"`      // of that, the log of writes not yet in sorted files
	ReserveBytes  int64  `json:"reserveBytes"`  // set aside for a full disk, not in DiskBytes; 0 when it is used
	MemTableBytes int64  `json:"memTableBytes"` // memory for the newest writes
	CacheBytes    int64  `json:"cacheBytes"`    // memory of the block cache
	CacheHits     int64  `json:"cacheHits"`     // since the start
	CacheMisses   int64  `json:"cacheMisses"`
	Compactions   int64  `json:"compactions"`         // since the start
	Flushes       int64  `json:"flushes"`             // since the start
	ReadAmp       int    `json:"readAmp"`             // sorted runs that a read may look at
	OpenReaders   int    `json:"openReaders"`         // views that At has opened and nobody has closed
	Unhealthy     string `json:"unhealthy,omitempty"` // what Healthy says
}

// Stats returns the current figures; the zero value when the store is closed.
func (e *Engine) Stats() Stats {
	if !e.gate.enter() {
		return Stats{}
	}
	defer e.gate.leave()
	m := e.db.Metrics()
	e.readers.Lock()
	open := len(e.readers.open)
	e.readers.Unlock()
	unhealthy := ""
	if err := e.Healthy(); err != nil && !errors.Is(err, ErrReadOnly) {
		unhealthy = err.Error()
	}
	return Stats{
		ID:            e.id,
		Current:       e.Current(),
		Oldest:        e.Oldest(),
		DiskBytes:     int64(m.DiskSpaceUsage()),
		LogBytes:      int64(m.WAL.PhysicalSize),
		MemTableBytes: int64(m.MemTable.Size + m.MemTable.ZombieSize),
		CacheBytes:    m.BlockCache.Size,
		CacheHits:     m.BlockCache.Hits,
		CacheMisses:   m.BlockCache.Misses,
		Compactions:   m.Compact.Count,
		Flushes:       m.Flush.Count,
		ReadAmp:       m.ReadAmp(),
		OpenReaders:   open,
		ReserveBytes:  e.disk.reserve.size(),
		Unhealthy:     unhealthy,
	}
}
