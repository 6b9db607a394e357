package action

import "testing"

// TestMerged: what a change does not touch stays as it is stored, explicit zeros and unknown members too.
func TestMerged(t *testing.T) {
	for _, c := range []struct{ what, stored, before, after, want string }{
		{"no change", `{"a":0,"x":1}`, `{}`, `{}`, `{"a":0,"x":1}`},
		{"a member is set", `{"a":0,"o":{"zero":0}}`, `{"o":{}}`, `{"o":{"n":1}}`, `{"a":0,"o":{"n":1,"zero":0}}`},
		{"a member is removed", `{"a":1,"b":2}`, `{"a":1,"b":2}`, `{"b":2}`, `{"b":2}`},
		{"a struct that is not stored", `{}`, `{"status":{}}`, `{"status":{}}`, `{}`},
		{"a struct that is not stored is filled", `{}`, `{"status":{}}`, `{"status":{"n":1}}`, `{"status":{"n":1}}`},
		{"a list is replaced", `{"l":[{"a":0}]}`, `{"l":[{}]}`, `{"l":[{},{"b":1}]}`, `{"l":[{},{"b":1}]}`},
		{"another kind of value", `{"a":{"b":1}}`, `{"a":{"b":1}}`, `{"a":3}`, `{"a":3}`},
		{"a number keeps its digits", `{"a":12345678901234567890.50,"b":1}`, `{"b":1}`, `{"b":2}`, `{"a":12345678901234567890.50,"b":2}`},
		{"null", `{"a":null,"b":1}`, `{"b":1}`, `{"b":null}`, `{"a":null,"b":null}`},
	} {
		got, err := merged([]byte(c.stored), []byte(c.before), []byte(c.after))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v, expected %s", c.what, got, err, c.want)
		}
	}
}
