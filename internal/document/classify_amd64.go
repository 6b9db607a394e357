package document

// classify is classifyWords, with instructions that every amd64 processor has:
// four times as fast (BenchmarkClassify).
//
//go:noescape
func classify(b *[64]byte) (quotes, slashes, opens, closes uint64)
