//go:build !amd64

package document

func classify(b *[64]byte) (quotes, slashes, opens, closes uint64) { return classifyWords(b) }

const skips = false // there is no skipBlocks for this processor

func (o *bracketState) skip([]byte) (passed int, opens, closes uint64, ok bool) {
	return 0, 0, 0, false
}
