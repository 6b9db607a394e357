package policy

import "github.com/capstan-dev/capstan/internal/document"

// maxIndexedParallelism bounds the pods of an indexed job that run at a time.
const maxIndexedParallelism = 100_000

// jobSpec checks the common members of jobs and templates of jobs.
func (c *causes) jobSpec(spec document.Value) {
	if spec.Get("completionMode").Equals("Indexed") {
		if !isSet(spec.Get("completions")) {
			c.Required(member(spec, "completions"), "when completion mode is Indexed")
		}
		if v := spec.Get("parallelism"); number(v) > maxIndexedParallelism {
			c.Invalid(v, "must be less than or equal to 100000 when completion mode is Indexed")
		}
	}
	template := spec.Get("template")
	switch policy := template.At("spec", "restartPolicy"); policy.Text() {
	case "OnFailure", "Never":
	case "", "Always":
		c.Required(member(template, "spec", "restartPolicy"), `valid values: "OnFailure", "Never"`)
	default:
		c.NotSupported(policy, "OnFailure", "Never")
	}
}
