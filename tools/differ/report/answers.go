package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/capstan-dev/capstan/tools/differ/exec"
	"github.com/capstan-dev/capstan/tools/differ/scenario"
)

// Answers prints a scenario's requests with the answers of both sides where they differ,
// or everywhere.
func Answers(w io.Writer, sc *scenario.Scenario, out *exec.Outcome, all bool) {
	for i, st := range sc.Steps {
		if out.Want[i] == nil || out.Got[i] == nil {
			continue
		}
		fmt.Fprintf(w, "step %d %q %s %s: %d, %d\n", i+1, st.Name, st.Method, st.Path, out.Want[i].Status, out.Got[i].Status)
		found := false
		for _, d := range out.Diffs {
			if d.Step == i {
				found = true
				fmt.Fprintf(w, "  %s\n    want %s\n    got  %s\n", d.Signature, oneLine(d.Want), oneLine(d.Got))
			}
		}
		if all || found {
			if p := st.Payload(map[string]string{"NS": out.Namespace}); p != nil {
				fmt.Fprintf(w, "  sent      %.2000s\n", p)
			}
			fmt.Fprintf(w, "  reference %.2000s\n  server    %.2000s\n", body(out.Want[i].Body, out.Want[i].Events), body(out.Got[i].Body, out.Got[i].Events))
		}
	}
}

func body(b []byte, events []any) string {
	if events != nil {
		return string(scenario.Encode(events))
	}
	return strings.TrimSpace(string(b))
}
