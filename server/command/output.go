package command

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/pflag"
)

// outputFlag is the flag --output: json, or nothing for text.
type outputFlag struct{ form string }

func (o *outputFlag) add(fs *pflag.FlagSet, usage string) {
	fs.StringVarP(&o.form, "output", "o", "", usage)
}

// check refuses other forms.
func (o *outputFlag) check() error {
	if o.form != "" && o.form != "json" {
		return usageError{fmt.Errorf("output format %q is unknown; use json, or leave the flag out", o.form)}
	}
	return nil
}

func (o *outputFlag) json() bool { return o.form == "json" }

// writeJSON writes a value on lines of its own, for people and programs.
func writeJSON(out io.Writer, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(out, "%s\n", text)
	}
	return err
}
