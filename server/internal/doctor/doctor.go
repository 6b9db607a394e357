// Package doctor looks for what keeps a server from starting, from working well, or from working much
// longer: on its machine, and in its objects. Each finding has a remedy.
package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/capstan-dev/capstan/client"
)

// Severity says how much a finding matters.
type Severity string

// Severities.
const (
	Problem Severity = "problem" // something does not work, or will not soon
	Warning Severity = "warning" // something works, and not as well as it could
)

// Finding is something that is not as it should be.
type Finding struct {
	Severity Severity `json:"severity"`
	Check    string   `json:"check"`
	Text     string   `json:"text"`
	Remedy   string   `json:"remedy"`
}

// Subject is a server that may run or not.
type Subject struct {
	// DataDir and CertDir are the directories of its data and of its certificates.
	DataDir, CertDir string
	// Certificates are those that flags name.
	Certificates []Certificate
	// Address is where it listens, or will listen: "127.0.0.1:6443".
	Address string
	// Kubeconfig names the server and an administrator; "" for one in DataDir, if it is there.
	Kubeconfig string
	// Now is the time of the machine.
	Now time.Time
}

// Report is the result of all checks.
type Report struct {
	// Checks are the names of the checks that were made, in their order.
	Checks []string `json:"checks"`
	// Server is the URL of the running server; "" when none answers.
	Server   string    `json:"server,omitempty"`
	Findings []Finding `json:"findings"`
}

// check is one look at a subject. The server is nil when none answers.
type check struct {
	name   string
	remote bool // asks the server
	look   func(ctx context.Context, s *Subject, server *client.REST) []Finding
}

var checks = []check{
	{"data directory", false, checkDirectory},
	{"disk", false, checkDisk},
	{"port", false, checkPort},
	{"certificates", false, checkCertificates},
	{"limits of the system", false, checkLimits},
	{"clock", false, checkClock},
	{"readiness", true, checkReadiness},
	{"webhooks", true, checkWebhooks},
	{"definitions", true, checkDefinitions},
	{"extension servers", true, checkExtensions},
	{"deprecated versions", true, checkDeprecated},
}

// checkLimit bounds one check: a place that does not answer is a finding.
const checkLimit = 20 * time.Second

// Examine makes all checks. Those that ask the server are made if one answers.
func Examine(ctx context.Context, s *Subject) *Report {
	report := &Report{Findings: []Finding{}}
	server, url, found := connect(ctx, s)
	report.Findings = append(report.Findings, found...)
	if server != nil {
		defer server.Close()
		report.Server = url
	}
	for _, c := range checks {
		if c.remote && server == nil {
			continue
		}
		report.Checks = append(report.Checks, c.name)
		limited, cancel := context.WithTimeout(ctx, checkLimit)
		for _, f := range c.look(limited, s, server) {
			f.Check = c.name
			report.Findings = append(report.Findings, f)
		}
		cancel()
	}
	return report
}

func problem(remedy, format string, args ...any) Finding {
	return Finding{Severity: Problem, Text: fmt.Sprintf(format, args...), Remedy: remedy}
}

func warning(remedy, format string, args ...any) Finding {
	return Finding{Severity: Warning, Text: fmt.Sprintf(format, args...), Remedy: remedy}
}
