package document

import "golang.org/x/sys/cpu"

// classify is classifyWords, with instructions that every amd64 processor has:
// four times as fast (BenchmarkClassify).
//
//go:noescape
func classify(b *[64]byte) (quotes, slashes, opens, closes uint64)

// skips reports that the processor supports skipBlocks, as nearly all do.
var skips = cpu.X86.HasAVX2 && cpu.X86.HasPCLMULQDQ && cpu.X86.HasPOPCNT

// skip passes over blocks of 64 bytes in which fewer brackets close than are open before
// the block: there the container cannot end. It returns the number of bytes passed and
// the brackets outside of strings in the block after them; o is the state after that
// block, without its own brackets. It is not ok when no whole block is left; then o is
// the state after the bytes passed.
func (o *bracketState) skip(b []byte) (passed int, opens, closes uint64, ok bool) {
	if len(b) < 64 || !skips {
		return 0, 0, 0, false
	}
	blocks := len(b) / 64
	n, opens, closes := skipBlocks(&b[0], blocks, o)
	return n * 64, opens, closes, n < blocks
}

// skipBlocks does for whole blocks what containerEnd does, three times as fast
// (BenchmarkContainerEnd).
//
//go:noescape
func skipBlocks(b *byte, blocks int, o *bracketState) (passed int, opens, closes uint64)
