package document

import (
	"errors"
	"time"
)

const (
	secondsLayout = "2006-01-02T15:04:05Z"
	microLayout   = "2006-01-02T15:04:05.000000Z"
)

var (
	errTime      = errors.New(`want RFC 3339 like "2006-01-02T15:04:05Z"`)
	errMicroTime = errors.New(`want RFC 3339 with six digits of the second, like "2006-01-02T15:04:05.000000Z"`)
)

// canonicalTime returns whole seconds in UTC. The zero time becomes null.
func canonicalTime(text []byte) ([]byte, error) {
	if len(text) == len(secondsLayout) && isPlainTime(text) && text[19] == 'Z' {
		return text, nil
	}
	return rewriteTime(text, time.RFC3339, errTime, time.Second, secondsLayout)
}

// canonicalMicroTime returns six digits of the second in UTC.
func canonicalMicroTime(text []byte) ([]byte, error) {
	if len(text) == len(microLayout) && isPlainTime(text) && text[19] == '.' &&
		digitsEnd(text, 20) == 26 && text[26] == 'Z' {
		return text, nil
	}
	return rewriteTime(text, "2006-01-02T15:04:05.000000Z07:00", errMicroTime, time.Microsecond, microLayout)
}

func rewriteTime(text []byte, from string, wrong error, unit time.Duration, layout string) ([]byte, error) {
	t, err := time.Parse(from, string(text))
	if err != nil {
		return nil, wrong
	}
	t = t.UTC().Truncate(unit)
	if t.IsZero() {
		return nil, nil
	}
	if year := t.Year(); year < 0 || year > 9999 {
		return nil, errTime
	}
	return t.AppendFormat(nil, layout), nil
}

// isPlainTime recognises the first 19 characters of the common times: years
// from 1000 on, days that every month has.
func isPlainTime(b []byte) bool {
	const shape = "0000-00-00T00:00:00"
	for i := range len(shape) {
		if shape[i] == '0' {
			if b[i] < '0' || b[i] > '9' {
				return false
			}
		} else if b[i] != shape[i] {
			return false
		}
	}
	two := func(i int) int { return int(b[i]-'0')*10 + int(b[i+1]-'0') }
	month, day := two(5), two(8)
	return b[0] != '0' && 1 <= month && month <= 12 && 1 <= day && day <= 28 &&
		two(11) < 24 && two(14) < 60 && two(17) < 60
}
