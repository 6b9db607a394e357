package policy_test

import "testing"

const (
	jobHead = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, uid: u}\n"
	runsC   = "restartPolicy: Never, containers: [{name: c, image: i}]"
	jobPods = "template: {spec: {" + runsC + "}}"
)

func TestJob(t *testing.T) {
	with := func(more string) string { return "spec: {" + jobPods + ", " + more + "}" }
	labeled := func(meta string) string { return "spec: {template: {metadata: {" + meta + "}, spec: {" + runsC + "}}}" }
	runHooks(t, jobHead, []hookCase{
		{"completions", with(""), "spec/completions", "1"},
		{"parallelism alone", with("parallelism: 3"), "spec/completions", ""},
		{"completions alone", with("completions: 3"), "spec/parallelism", "1"},
		{"retries", with(""), "spec/backoffLimit", "6"},
		{"no retries", with("backoffLimit: 0"), "spec/backoffLimit", "0"},
		{"mode", with(""), "spec/completionMode", `"NonIndexed"`},
		{"suspend", with(""), "spec/suspend", "false"},
		{"tracking", with(""), "metadata/annotations", `{"batch.kubernetes.io/job-tracking":""}`},
		{"labels", with(""), "metadata/labels/job-name", `"j"`},
		{"inherited", labeled("labels: {a: b}"), "metadata/labels/a", `"b"`},
		{"manual", with("manualSelector: true"), "spec/selector", ""},
	})
	runHooks(t, "", []hookCase{
		{"own labels", "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j, labels: {a: b}}\n" + labeled("labels: {a: b}"), "metadata/labels", `{"a":"b"}`},
	})
	runCreate(t, jobHead, []createCase{
		{"right", with(""), ""},
		{"restarts", "spec: {template: {spec: {containers: [{name: c, image: i}]}}}", "spec.template.spec.restartPolicy: Required"},
		{"unknown restarts", "spec: {template: {spec: {restartPolicy: X, containers: [{name: c, image: i}]}}}", "spec.template.spec.restartPolicy: NotSupported"},
		{"nothing", "spec: {}", "spec.template.spec.containers: Required; spec.template.spec.restartPolicy: Required"},
		{"indexed", with("completionMode: Indexed, parallelism: 100001"), "spec.completions: Required; spec.parallelism: Invalid"},
		{"manual", "spec: {manualSelector: true, " + jobPods + "}", "spec.selector: Required; spec.template.metadata.labels: Invalid"},
		{"manual and all", "spec: {manualSelector: true, selector: {}, " + jobPods + "}", ""},
		{"manual and right", "spec: {manualSelector: true, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {" + runsC + "}}}", ""},
		{"manual and others", "spec: {manualSelector: true, selector: {matchLabels: {a: c}}, template: {metadata: {labels: {a: b}}, spec: {" + runsC + "}}}",
			"spec.template.metadata.labels: Invalid"},
		{"not manual", with("selector: {matchLabels: {a: b}}"), "spec.selector: Invalid; spec.template.metadata.labels: Invalid"},
		{"label", labeled("labels: {job-name: other}"), "spec.template.metadata.labels[job-name]: Invalid"},
	})
	runCreate(t, "apiVersion: batch/v1\nkind: Job\nmetadata: {name: a.b}\n", []createCase{
		{"host", with("completionMode: Indexed, completions: 2"), "metadata.name: Invalid"},
		{"no host", with("completions: 2"), ""},
	})
	runCells(t, jobHead, []cellCase{
		{"some", with("completions: 3") + "\nstatus: {succeeded: 1}", "Completions", "1/3"},
		{"any", with("parallelism: 3") + "\nstatus: {succeeded: 1}", "Completions", "1/1 of 3"},
		{"one", with("parallelism: 1"), "Completions", "0/1"},
		{"ended", with("") + "\nstatus: {startTime: '2022-01-01T00:00:00Z', completionTime: '2022-01-01T00:05:10Z'}", "Duration", "5m10s"},
		{"waits", with(""), "Duration", ""},
		{"containers", with(""), "Containers", "c"},
		{"images", with(""), "Images", "i"},
	})
}

// The template of the pods stays, except for its scheduling while the job has not
// started.
func TestJobUpdate(t *testing.T) {
	head := "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\n"
	job := func(spec, pod string) string {
		return head + "spec: {manualSelector: true, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {" + runsC + pod + "}}" + spec + "}"
	}
	runUpdate(t, "", []updateCase{
		{"parallelism", job("", ""), job(", completions: 1, parallelism: 3, suspend: true, backoffLimit: 1", ""), ""},
		{"completions", job("", ""), job(", completions: 3", ""), "spec.completions: Invalid"},
		{"mode", job(", completions: 1", ""), job(", completions: 1, completionMode: Indexed", ""), "spec.completionMode: Invalid"},
		{"template", job("", ""), job("", ", dnsPolicy: Default"), "spec.template: Invalid"},
		{"running", job("", ""), job("", ", nodeSelector: {a: b}"), "spec.template: Invalid"},
		{"suspended", job(", suspend: true", ""), job(", suspend: true", ", nodeSelector: {a: b}"), ""},
		{"suspended but another pod", job(", suspend: true", ""), job(", suspend: true", ", dnsPolicy: Default"), "spec.template: Invalid"},
	})
	runStatus(t, "", []updateCase{
		{"counted twice", job("", ""), job("", "") + "\nstatus: {uncountedTerminatedPods: {succeeded: [a, '', b, a], failed: [b]}}",
			"status.uncountedTerminatedPods.succeeded[1]: Invalid; status.uncountedTerminatedPods.succeeded[3]: Duplicate; status.uncountedTerminatedPods.failed[0]: Duplicate"},
	})
}

func TestCronJob(t *testing.T) {
	head := "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: c}\n"
	with := func(more string) string {
		return "spec: {schedule: '* * * * *', jobTemplate: {spec: {" + jobPods + "}}, " + more + "}"
	}
	job := func(more string) string {
		return "spec: {schedule: '@hourly', jobTemplate: {spec: {" + jobPods + ", " + more + "}}}"
	}
	runHooks(t, head, []hookCase{
		{"no defaults of jobs", with(""), "spec/jobTemplate/spec/backoffLimit", ""},
	})
	runCreate(t, head, []createCase{
		{"right", with("timeZone: Europe/Vienna"), ""},
		{"nothing", "spec: {}", "spec.schedule: Required; spec.jobTemplate.spec.template.spec.containers: Required; spec.jobTemplate.spec.template.spec.restartPolicy: Required"},
		{"no zone", with("timeZone: ''"), "spec.timeZone: Invalid"},
		{"local", with("timeZone: local"), "spec.timeZone: Invalid"},
		{"unknown zone", with("timeZone: Europe/Atlantis"), "spec.timeZone: Invalid"},
		{"a file", with("timeZone: ../../etc/passwd"), "spec.timeZone: Invalid"},
		{"two zones", "spec: {schedule: 'TZ=UTC * * * * *', timeZone: UTC, jobTemplate: {spec: {" + jobPods + "}}}", "spec.schedule: Invalid"},
		{"selector", job("selector: {}, manualSelector: true"), "spec.jobTemplate.spec.selector: Invalid; spec.jobTemplate.spec.manualSelector: NotSupported"},
	})
	long := "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: c12345678901234567890123456789012345678901234567890123}\n"
	runCreate(t, long, []createCase{{"name", with(""), "metadata.name: Invalid"}})
	runUpdate(t, long, []updateCase{
		{"name", with(""), with("suspend: true"), ""},
		{"zone that is gone", with("timeZone: Europe/Atlantis"), with("timeZone: Europe/Atlantis, suspend: true"), ""},
	})
	runCells(t, head, []cellCase{
		{"suspended", with("suspend: true"), "Suspend", "True"},
		{"not", with(""), "Suspend", "False"},
		{"active", with("") + "\nstatus: {active: [{name: a}, {name: b}]}", "Active", int64(2)},
		{"never", with(""), "Last Schedule", "<none>"},
		{"containers", with(""), "Containers", "c"},
		{"images", with(""), "Images", "i"},
		{"selector", with(""), "Selector", "<none>"},
	})
}

func TestSchedule(t *testing.T) {
	at := func(schedule string) string {
		return "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: c}\nspec: {schedule: '" + schedule + "', jobTemplate: {spec: {" + jobPods + "}}}"
	}
	for _, schedule := range []string{
		"*/5 * * * *", "0 0 1 1 0", "59 23 31 12 6", "1,2,5-10/2 ? * JAN-mar mon", "5/15 * * * *", "@hourly", "@every 1h30m", "TZ=UTC @daily",
		"CRON_TZ=Europe/Vienna 0 6 * * *", "1,,2 * * * *",
	} {
		runCreate(t, "", []createCase{{schedule, at(schedule), ""}})
	}
	for _, schedule := range []string{
		"*", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 7", "-1 * * * *", "5-1 * * * *", "*/0 * * * *",
		"*/x * * * *", "a * * * *", "@never", "@every soon", "TZ=UTC", "TZ=Nowhere/Else * * * * *", " ", "1-2-3 * * * *", "*/1/2 * * * *",
	} {
		runCreate(t, "", []createCase{{schedule, at(schedule), "spec.schedule: Invalid"}})
	}
}
