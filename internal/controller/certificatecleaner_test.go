package controller

import (
	"encoding/json"
	"os"
	"testing"
	"time"
)

func TestSigningRequestsAreOver(t *testing.T) {
	certificate, err := os.ReadFile("../../server/internal/kinds/policy/testdata/certificate.pem")
	if err != nil {
		t.Fatal(err)
	}
	times := CleaningTimes{Pending: 24 * time.Hour, Decided: time.Hour}
	now := time.Now()
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	for _, c := range []struct {
		name        string
		kind        string // of the condition, "" for none
		created, at time.Duration
		certificate []byte
		want        bool
	}{
		{"new", "", time.Hour, 0, nil, false},
		{"never decided", "", 25 * time.Hour, 0, nil, true},
		{"denied", "Denied", 25 * time.Hour, 30 * time.Minute, nil, false},
		{"denied long ago", "Denied", 25 * time.Hour, 61 * time.Minute, nil, true},
		{"failed long ago", "Failed", 25 * time.Hour, 61 * time.Minute, nil, true},
		{"approved and not signed", "Approved", 100 * time.Hour, 99 * time.Hour, nil, false},
		{"signed long ago", "Approved", 3 * time.Hour, 61 * time.Minute, certificate, true},
		{"signed just now", "Approved", 3 * time.Hour, time.Minute, []byte("one that does not end"), false},
		{"another condition", "Kit", 100 * time.Hour, 99 * time.Hour, nil, false},
	} {
		var r signingRequest
		r.Metadata.CreationTimestamp = ago(c.created)
		r.Status.Certificate = c.certificate
		if c.kind != "" {
			r.Status.Conditions = []signingCondition{{c.kind, "True", ago(c.at)}}
		}
		text, _ := json.Marshal(r)
		read, err := readSigningRequest(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := read.over(now, times); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	if !ended(certificate, now.AddDate(1000, 0, 0)) || ended(certificate, time.Time{}) || ended(nil, now) {
		t.Error("the end of a certificate is not seen")
	}
}
