package codec

import (
	"strconv"
	"time"
)

const (
	minute = 60
	hour   = 60 * minute
	day    = 24 * hour
	year   = 365 * day
)

// AppendAge appends a duration as kubectl prints it: one or two units, the precision
// falling with the length.
//
//	under 2m    seconds             95s
//	under 10m   minutes, seconds    5m10s
//	under 3h    minutes             95m
//	under 8h    hours, minutes      3h5m
//	under 48h   hours               30h
//	under 8d    days, hours         2d3h
//	under 2y    days                300d
//	under 8y    years, days         2y10d
//	then        years               9y
//
// A second unit that is zero is left out. Durations below -1 s, which clocks
// that disagree do not explain, are "<invalid>".
func AppendAge(dst []byte, d time.Duration) []byte {
	s := int64(d / time.Second)
	switch {
	case s < -1:
		return append(dst, "<invalid>"...)
	case s < 2*minute:
		return appendUnits(dst, max(s, 0), 's', 0, 0)
	case s < 10*minute:
		return appendUnits(dst, s/minute, 'm', s%minute, 's')
	case s < 3*hour:
		return appendUnits(dst, s/minute, 'm', 0, 0)
	case s < 8*hour:
		return appendUnits(dst, s/hour, 'h', s%hour/minute, 'm')
	case s < 48*hour:
		return appendUnits(dst, s/hour, 'h', 0, 0)
	case s < 8*day:
		return appendUnits(dst, s/day, 'd', s%day/hour, 'h')
	case s < 2*year:
		return appendUnits(dst, s/day, 'd', 0, 0)
	case s < 8*year:
		return appendUnits(dst, s/year, 'y', s%year/day, 'd')
	}
	return appendUnits(dst, s/year, 'y', 0, 0)
}

func appendUnits(dst []byte, n int64, unit byte, rest int64, restUnit byte) []byte {
	dst = append(strconv.AppendInt(dst, n, 10), unit)
	if rest > 0 {
		dst = append(strconv.AppendInt(dst, rest, 10), restUnit)
	}
	return dst
}

// unknown is the cell of a time that is not set.
const unknown = "<unknown>"

// Age is the age of a time given in RFC 3339, as in a table; "<unknown>" when it is empty
// or not a time.
func Age(since string, now time.Time) string {
	seconds, nanos, err := parseTime([]byte(since))
	if err != nil {
		return unknown
	}
	return string(AppendAge(nil, now.Sub(time.Unix(seconds, int64(nanos)))))
}
