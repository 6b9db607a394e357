package store

import "errors"

// Stats are figures for people and metrics. Sizes are in bytes.
type Stats struct {
	ID            string `json:"id"`            // of the store and its backups
	Current       uint64 `json:"current"`       // newest revision
	Oldest        uint64 `json:"oldest"`        // oldest readable revision, 0 for all
	DiskBytes     int64  `json:"diskBytes"`     // files of the store
	LogBytes      int64  `json:"logBytes"`      // the part of DiskBytes in the log of writes
	ReserveBytes  int64  `json:"reserveBytes"`  // set aside for a full disk, not in DiskBytes; 0 while released
	MemTableBytes int64  `json:"memTableBytes"` // memory for the newest writes
	CacheBytes    int64  `json:"cacheBytes"`    // memory of the block cache
	CacheHits     int64  `json:"cacheHits"`     // since the start
	CacheMisses   int64  `json:"cacheMisses"`
	Compactions   int64  `json:"compactions"`         // since the start
	Flushes       int64  `json:"flushes"`             // since the start
	ReadAmp       int    `json:"readAmp"`             // sorted runs that a read may search
	OpenReaders   int    `json:"openReaders"`         // views opened by At and not closed
	Unhealthy     string `json:"unhealthy,omitempty"` // the error of Healthy
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
