// Package value holds the scalar types of the API that Go has no type for:
// times, quantities and values that are an integer or a text. The generated Go
// types of every group version use them.
//
// The zero value of each type stands for "not set".
package value

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// Raw is JSON that is kept as it was sent.
type Raw = json.RawMessage

// Quantity is an amount with an optional suffix, for example "100m", "1.5" or
// "2Gi". It is kept as the text that was sent; the server writes the canonical
// spelling.
type Quantity string

// MarshalJSON writes a JSON string; "0" when nothing is set.
func (q Quantity) MarshalJSON() ([]byte, error) {
	if q == "" {
		return []byte(`"0"`), nil
	}
	return json.Marshal(string(q))
}

// UnmarshalJSON accepts a string or a number. Its error names the value that it found.
func (q *Quantity) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	switch {
	case isNull(data):
		return nil
	case len(data) > 0 && data[0] == '"':
		return json.Unmarshal(data, (*string)(q))
	case len(data) > 0 && (data[0] == '-' || '0' <= data[0] && data[0] <= '9'):
		*q = Quantity(data)
		return nil
	}
	return fmt.Errorf("quantity %s: want a string like \"500m\" or a number", clip(data))
}

// IntOrString is either an integer of 32 bits or a text, for example a port
// number or a port name. Values compare with ==.
type IntOrString struct {
	text   string
	number int32
	isText bool
}

// Int returns an IntOrString that holds a number.
func Int(n int32) IntOrString { return IntOrString{number: n} }

// Text returns an IntOrString that holds a text.
func Text(s string) IntOrString { return IntOrString{text: s, isText: true} }

// Int returns the number, and false when v holds a text.
func (v IntOrString) Int() (int32, bool) { return v.number, !v.isText }

// Text returns the text, and false when v holds a number.
func (v IntOrString) Text() (string, bool) { return v.text, v.isText }

// String returns the text, or the number in decimal.
func (v IntOrString) String() string {
	if v.isText {
		return v.text
	}
	return strconv.Itoa(int(v.number))
}

// MarshalJSON writes a JSON string or a JSON number.
func (v IntOrString) MarshalJSON() ([]byte, error) {
	if v.isText {
		return json.Marshal(v.text)
	}
	return strconv.AppendInt(nil, int64(v.number), 10), nil
}

// UnmarshalJSON accepts a string or an integer of 32 bits. Its error names the value that
// it found.
func (v *IntOrString) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	if isNull(data) {
		return nil
	}
	if len(data) > 0 && data[0] == '"' {
		var s string
		if err := json.Unmarshal(data, &s); err != nil {
			return err
		}
		*v = Text(s)
		return nil
	}
	n, err := strconv.ParseInt(string(data), 10, 32)
	if err != nil {
		return fmt.Errorf("value %s: want a string or an integer from -2147483648 to 2147483647", clip(data))
	}
	*v = Int(int32(n))
	return nil
}

func isNull(data []byte) bool { return string(data) == "null" }

// clip shortens input for an error message.
func clip(data []byte) []byte {
	const most = 64
	if len(data) > most {
		return data[:most]
	}
	return data
}
