package signing

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
)

// CheckAnchors reports the mistakes in the certificates of authorities in PEM form: their
// blocks have no headers and are of an authority, each is there once, and one at least.
// Text between the blocks is skipped. The work grows with the text, which the caller
// bounds.
func CheckAnchors(text []byte) (mistakes []string) {
	places, order := map[string][]int{}, []string(nil)
	for i := 0; ; i++ {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		if why := anchorMistake(block); why != "" {
			mistakes = append(mistakes, fmt.Sprintf("entry %d %s", i, why))
			continue
		}
		content := string(block.Bytes)
		if places[content] == nil {
			order = append(order, content)
		}
		places[content] = append(places[content], i)
	}
	if len(mistakes) > 0 {
		return mistakes
	}
	if len(order) == 0 {
		return []string{"at least one trust anchor must be provided"}
	}
	for _, content := range order {
		if at := places[content]; len(at) > 1 {
			mistakes = append(mistakes, fmt.Sprintf("duplicate trust anchor (indices %v)", at))
		}
	}
	return mistakes
}

// anchorMistake is the mistake in a block; "" for none.
func anchorMistake(block *pem.Block) string {
	if block.Type != certificateBlock {
		return "has bad block type: " + block.Type
	}
	if len(block.Headers) > 0 {
		return "has PEM block headers"
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	switch {
	case err != nil:
		return "does not parse as X.509"
	case !certificate.IsCA:
		return "does not have the CA bit set"
	case !certificate.BasicConstraintsValid:
		return "has invalid basic constraints"
	}
	return ""
}
