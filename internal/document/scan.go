package document

// escapeEnd returns the position after the escape at i, or minus that of the wrong byte.
func escapeEnd(b []byte, i int) int {
	if i+1 >= len(b) {
		return -len(b)
	}
	switch b[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return i + 2
	case 'u':
		if hex4(b[i+2:]) >= 0 {
			return i + 6
		}
		return -min(i+2, len(b))
	}
	return -(i + 1)
}

// WellEscaped reports whether all escapes in the inside of a JSON string are right.
func WellEscaped(raw []byte) bool {
	for i := 0; i < len(raw); {
		if raw[i] != '\\' {
			i++
		} else if i = escapeEnd(raw, i); i < 0 {
			return false
		}
	}
	return true
}

func containsEscape(b []byte) bool {
	for _, c := range b {
		if c == '\\' {
			return true
		}
	}
	return false
}

// numberEnd returns the position after the number at i, or, with false, that of the wrong
// byte.
func numberEnd(b []byte, i int) (int, bool) {
	if i < len(b) && b[i] == '-' {
		i++
	}
	switch {
	case i < len(b) && b[i] == '0':
		i++
	default:
		start := i
		if i = digitsEnd(b, i); i == start {
			return i, false
		}
	}
	if i < len(b) && b[i] == '.' {
		i++
		start := i
		if i = digitsEnd(b, i); i == start {
			return i, false
		}
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		start := i
		if i = digitsEnd(b, i); i == start {
			return i, false
		}
	}
	return i, true
}

func digitsEnd(b []byte, i int) int {
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		i++
	}
	return i
}

// parseInt reads an integer literal of so many bits, without fraction or exponent.
func parseInt(b []byte, bits uint8) (int64, bool) {
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	if len(b) == 0 || len(b) > 19 {
		return 0, false
	}
	n := uint64(0)
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	limit := uint64(1) << 63
	if bits == 32 {
		limit = 1 << 31
	}
	if negative {
		return -int64(n), n <= limit
	}
	return int64(n), n < limit
}
