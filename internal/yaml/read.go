package yaml

import "encoding/json"

// Unmarshal reads the first document of YAML text into a value, by the rules of
// encoding/json for its JSON text.
func Unmarshal(text []byte, into any) error {
	text, err := ToJSON(text)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
