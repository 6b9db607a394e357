package value

import (
	"encoding/json"
	"fmt"
	"time"
)

const (
	secondsLayout = "2006-01-02T15:04:05Z"
	microLayout   = "2006-01-02T15:04:05.000000Z"
)

// Time is a point in time with whole seconds. It is written in UTC; the zero
// Time is written as null.
type Time struct{ time.Time }

// MicroTime is a point in time with microseconds. It is written in UTC; the
// zero MicroTime is written as null.
type MicroTime struct{ time.Time }

// MarshalJSON writes RFC 3339 text with whole seconds, or null. It fails for
// years outside 0 to 9999.
func (t Time) MarshalJSON() ([]byte, error) {
	return writeTime(t.Time.Truncate(time.Second), secondsLayout)
}

// UnmarshalJSON accepts RFC 3339 text, with or without a fraction, and null.
func (t *Time) UnmarshalJSON(data []byte) error { return readTime(&t.Time, data) }

// MarshalJSON writes RFC 3339 text with six fractional digits, or null. It
// fails for years outside 0 to 9999.
func (t MicroTime) MarshalJSON() ([]byte, error) {
	return writeTime(t.Time.Truncate(time.Microsecond), microLayout)
}

// UnmarshalJSON accepts RFC 3339 text, with or without a fraction, and null.
func (t *MicroTime) UnmarshalJSON(data []byte) error { return readTime(&t.Time, data) }

func writeTime(t time.Time, layout string) ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	t = t.UTC()
	if y := t.Year(); y < 0 || y > 9999 {
		return nil, fmt.Errorf("time with year %d: want a year from 0 to 9999", y)
	}
	return []byte(t.Format(`"` + layout + `"`)), nil
}

func readTime(t *time.Time, data []byte) error {
	var text *string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("time %s: want a string like \"2006-01-02T15:04:05Z\"", clip(data))
	}
	if text == nil {
		*t = time.Time{}
		return nil
	}
	parsed, err := time.Parse(time.RFC3339, *text)
	if err != nil {
		return fmt.Errorf("time %s: want RFC 3339 like \"2006-01-02T15:04:05Z\"", clip(data))
	}
	*t = parsed.UTC()
	return nil
}

// Duration is a length of time, written as text like "1m30s".
type Duration struct{ time.Duration }

// MarshalJSON writes the text of time.Duration's String.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// UnmarshalJSON accepts the text that time.ParseDuration reads, and null.
func (d *Duration) UnmarshalJSON(data []byte) error {
	var text *string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("duration %s: want a string like \"1m30s\"", clip(data))
	}
	if text == nil {
		d.Duration = 0
		return nil
	}
	parsed, err := time.ParseDuration(*text)
	if err != nil {
		return fmt.Errorf("duration %s: want a text like \"1m30s\"", clip(data))
	}
	d.Duration = parsed
	return nil
}
