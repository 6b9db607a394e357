package document

import (
	"bytes"
	"strconv"
)

// SpellNumbers gives the numbers of a JSON text the spelling of encoding/json, for
// clients whose numbers may all be floats: 1e2 and 100.0 become 100. Text without such
// numbers is returned as it is.
func SpellNumbers(text []byte) []byte {
	var out []byte
	done := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			end, _ := QuotedEnd(text, i)
			if end < 0 {
				end = len(text)
			}
			i = end - 1
		case c == '-' || '0' <= c && c <= '9':
			end, ok := numberEnd(text, i)
			if !ok {
				return text // decoding it will report the mistake
			}
			if number := text[i:end]; bytes.ContainsAny(number, ".eE") {
				if value, err := strconv.ParseFloat(string(number), 64); err == nil {
					out = appendFloat(append(out, text[done:i]...), value)
					done = end
				}
			}
			i = end - 1
		}
	}
	if done == 0 {
		return text
	}
	return append(out, text[done:]...)
}
