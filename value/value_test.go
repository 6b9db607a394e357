package value

import (
	"encoding/json"
	"testing"
	"time"
)

type all struct {
	Time     Time         `json:"time"`
	Micro    MicroTime    `json:"micro"`
	Duration Duration     `json:"duration"`
	Quantity Quantity     `json:"quantity,omitempty"`
	Port     IntOrString  `json:"port"`
	Maybe    *IntOrString `json:"maybe,omitempty"`
	Raw      Raw          `json:"raw,omitempty"`
}

func TestZeroQuantity(t *testing.T) {
	if got, err := json.Marshal([]Quantity{"", "5"}); err != nil || string(got) != `["0","5"]` {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestJSON(t *testing.T) {
	zero := `{"time":null,"micro":null,"duration":"0s","port":0}`
	for _, c := range []struct{ name, in, out string }{
		{"nothing", `{}`, zero},
		{"nulls", `{"time":null,"micro":null,"duration":null,"quantity":null,"port":null,"maybe":null}`, zero},
		{"fraction is cut", `{"time":"2022-01-02T03:04:05.987Z"}`, `{"time":"2022-01-02T03:04:05Z","micro":null,"duration":"0s","port":0}`},
		{"zone becomes UTC", `{"time":"2022-01-02T03:04:05+01:00"}`, `{"time":"2022-01-02T02:04:05Z","micro":null,"duration":"0s","port":0}`},
		{"six digits", `{"micro":"2022-01-02T03:04:05.5Z"}`, `{"time":null,"micro":"2022-01-02T03:04:05.500000Z","duration":"0s","port":0}`},
		{"duration", `{"duration":"90s"}`, `{"time":null,"micro":null,"duration":"1m30s","port":0}`},
		{"quantity", `{"quantity":"100m"}`, `{"time":null,"micro":null,"duration":"0s","quantity":"100m","port":0}`},
		{"quantity as number", `{"quantity":1.5}`, `{"time":null,"micro":null,"duration":"0s","quantity":"1.5","port":0}`},
		{"port name", `{"port":"http","maybe":0}`, `{"time":null,"micro":null,"duration":"0s","port":"http","maybe":0}`},
		{"empty text is text", `{"port":""}`, `{"time":null,"micro":null,"duration":"0s","port":""}`},
		{"raw", `{"raw":{"b":1,"a":[]}}`, `{"time":null,"micro":null,"duration":"0s","port":0,"raw":{"b":1,"a":[]}}`},
		{"time not text", `{"time":5}`, ""},
		{"time not RFC 3339", `{"time":"yesterday"}`, ""},
		{"duration without unit", `{"duration":"5"}`, ""},
		{"duration not text", `{"duration":5}`, ""},
		{"quantity object", `{"quantity":{}}`, ""},
		{"port too large", `{"port":2147483648}`, ""},
		{"port fraction", `{"port":1.5}`, ""},
		{"port object", `{"port":{}}`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var v all
			err := json.Unmarshal([]byte(c.in), &v)
			if c.out == "" {
				if err == nil {
					t.Fatalf("no error for %s, got %+v", c.in, v)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(v)
			if err != nil || string(got) != c.out {
				t.Errorf("got  %s, %v\nwant %s", got, err, c.out)
			}
		})
	}
}

func TestIntOrString(t *testing.T) {
	if n, ok := Int(80).Int(); n != 80 || !ok {
		t.Errorf("Int(80).Int() = %d, %t", n, ok)
	}
	if s, ok := Text("http").Text(); s != "http" || !ok {
		t.Errorf("Text(http).Text() = %q, %t", s, ok)
	}
	if _, ok := Text("80").Int(); ok {
		t.Error("a text is not a number")
	}
	if Int(80).String() != "80" || Text("http").String() != "http" {
		t.Error("String")
	}
	if Int(0) == Text("") {
		t.Error("0 equals the empty text")
	}
}

func TestTimeOutOfRange(t *testing.T) {
	if _, err := json.Marshal(Time{time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}); err == nil {
		t.Error("no error for the year 10000")
	}
}

// FuzzUnmarshal: a value that was read can be written, and reading that gives the same
// text again.
func FuzzUnmarshal(f *testing.F) {
	f.Add([]byte(`{"time":"2022-01-02T03:04:05Z","micro":"2022-01-02T03:04:05.5Z","duration":"1h","quantity":"1Gi","port":"a","maybe":1}`))
	f.Add([]byte(`{"quantity":1e3,"port":-1}`))
	f.Add([]byte(`{"time":"0001-01-01T00:00:00.5Z","micro":"0001-01-01T00:00:00.0000005Z"}`))
	f.Add([]byte(`{"time":"9999-12-31T23:59:59-01:00"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var v, again all
		if json.Unmarshal(data, &v) != nil {
			return
		}
		first, err := json.Marshal(v)
		if err != nil {
			if v.Time.Year() > 9999 || v.Micro.Year() > 9999 || v.Time.Year() < 0 || v.Micro.Year() < 0 {
				return
			}
			t.Fatal(err)
		}
		if err := json.Unmarshal(first, &again); err != nil {
			t.Fatalf("%s: %v", first, err)
		}
		second, err := json.Marshal(again)
		if err != nil || string(first) != string(second) {
			t.Fatalf("%s then %s, %v", first, second, err)
		}
	})
}
