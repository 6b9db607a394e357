package codec

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
	"pgregory.net/rapid"
)

func TestAge(t *testing.T) {
	now := time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)
	for since, want := range map[string]string{
		"2026-11-21T02:00:00Z":        "0s",
		"2026-11-21T01:58:30Z":        "90s",
		"2026-11-21T01:54:50Z":        "5m10s",
		"2026-11-21T01:55:00.000000Z": "5m",
		"2026-11-18T23:00:00Z":        "2d3h",
		"2023-11-11T02:00:00Z":        "3y11d",
		"2026-11-21T02:00:01Z":        "0s",
		"2026-11-21T02:01:00Z":        "<invalid>",
		"":                            "<unknown>",
		"yesterday":                   "<unknown>",
	} {
		if got := Age(since, now); got != want {
			t.Errorf("%q is %s old, want %s", since, got, want)
		}
	}
}

// TestAppendAge compares with the function of the client library.
func TestAppendAge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.SampledFrom([]time.Duration{3 * time.Minute, 10 * time.Hour, 9 * 24 * time.Hour, 10 * 365 * 24 * time.Hour}).Draw(t, "limit")
		d := time.Duration(rapid.Int64Range(-int64(3*time.Second), int64(limit)).Draw(t, "d"))
		if got, want := string(AppendAge(nil, d)), duration.HumanDuration(d); got != want {
			t.Fatalf("%v is written %s, want %s", d, got, want)
		}
	})
}

func TestParseTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seconds := rapid.Int64Range(firstSecond, lastSecond).Draw(t, "seconds")
		micros := rapid.Int64Range(0, 999999).Draw(t, "micros")
		want := time.Unix(seconds, micros*1000).UTC()
		for _, text := range []string{want.Format("2006-01-02T15:04:05Z"), want.Format("2006-01-02T15:04:05.000000Z"), want.Format(time.RFC3339Nano)} {
			oracle, err := time.Parse(time.RFC3339Nano, text)
			if err != nil {
				t.Fatal(err)
			}
			s, n, err := parseTime([]byte(text))
			if err != nil || s != oracle.Unix() || int(n) != oracle.Nanosecond() {
				t.Fatalf("%s is %d.%09d (%v), want %d.%09d", text, s, n, err, oracle.Unix(), oracle.Nanosecond())
			}
		}
		text, err := appendTime(nil, seconds, int32(micros*1000), true)
		if err != nil || string(text) != want.Format("2006-01-02T15:04:05.000000Z") {
			t.Fatalf("%s %v", text, err)
		}
	})
	for _, wrong := range []string{"", "2024-13-01T00:00:00Z", "2024-01-01 00:00:00Z", "2024-01-01T00:00:xxZ"} {
		if _, _, err := parseTime([]byte(wrong)); err == nil {
			t.Errorf("%q was read as a time", wrong)
		}
	}
	if _, err := appendTime(nil, lastSecond+1, 0, false); err == nil {
		t.Error("the year 10000 was written")
	}
}
