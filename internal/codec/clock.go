package codec

import (
	"errors"
	"time"
)

var errTime = errors.New("a time is out of range: years 1 to 9999 can be written")

// The first and last second since 1970 that RFC 3339 can express.
const (
	firstSecond = -62135596800 // 0001-01-01T00:00:00Z
	lastSecond  = 253402300799 // 9999-12-31T23:59:59Z
)

// parseTime reads a time in RFC 3339: seconds since 1970 and nanoseconds.
func parseTime(s []byte) (seconds int64, nanos int32, err error) {
	// 2006-01-02T15:04:05Z, without or with six digits of fraction: the only canonical
	// forms.
	fraction := 0
	switch len(s) {
	case 20:
	case 27:
		fraction = 6
	default:
		return parseOddTime(s)
	}
	ok := s[4] == '-' && s[7] == '-' && s[10] == 'T' && s[13] == ':' && s[16] == ':' && s[len(s)-1] == 'Z' && (fraction == 0 || s[19] == '.')
	year, month, day := digits(s[0:4]), digits(s[5:7]), digits(s[8:10])
	hour, minute, second := digits(s[11:13]), digits(s[14:16]), digits(s[17:19])
	micros := 0
	if fraction > 0 {
		micros = digits(s[20:26])
	}
	if !ok || year < 0 || month < 1 || month > 12 || day < 1 || day > 31 || hour < 0 || minute < 0 || second < 0 || micros < 0 {
		return parseOddTime(s)
	}
	return int64(days(year, month, day))*86400 + int64(hour*3600+minute*60+second), int32(micros) * 1000, nil
}

func parseOddTime(s []byte) (int64, int32, error) {
	t, err := time.Parse(time.RFC3339Nano, string(s))
	if err != nil {
		return 0, 0, err
	}
	return t.Unix(), int32(t.Nanosecond()), nil
}

// digits is the value of decimal digits, or a negative number.
func digits(s []byte) int {
	n := 0
	for _, c := range s {
		if c < '0' || c > '9' {
			return -1 << 20
		}
		n = n*10 + int(c-'0')
	}
	return n
}

// days counts the days from 1970-01-01 in the Gregorian calendar. Years begin
// in March here, so that the leap day is the last of its year.
func days(year, month, day int) int {
	if month <= 2 {
		year--
		month += 12
	}
	return year*365 + year/4 - year/100 + year/400 + (153*(month-3)+2)/5 + day - 719469
}

// appendTime appends a time in RFC 3339, with six digits of fraction if micro.
func appendTime(dst []byte, seconds int64, nanos int32, micro bool) ([]byte, error) {
	if seconds < firstSecond || seconds > lastSecond || nanos < 0 || nanos > 999999999 {
		return dst, errTime
	}
	layout := "2006-01-02T15:04:05Z"
	if micro {
		layout = "2006-01-02T15:04:05.000000Z"
	} else {
		nanos = 0
	}
	return time.Unix(seconds, int64(nanos)).UTC().AppendFormat(dst, layout), nil
}
