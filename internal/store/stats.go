package store

// Stats are figures for people and metrics. Sizes are in bytes.
type Stats struct {
	Current, Oldest uint64 // revisions
	DiskBytes       int64  // files of the store
	LogBytes        int64  // of that, the log of writes not yet in sorted files
	MemTableBytes   int64  // memory for the newest writes
	CacheBytes      int64  // memory of the block cache
	CacheHits       int64  // since the start
	CacheMisses     int64
	Compactions     int64 // since the start
	Flushes         int64 // since the start
	ReadAmp         int   // sorted runs that a read may look at
	OpenReaders     int
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
	return Stats{
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
	}
}
