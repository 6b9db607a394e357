package command

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/capstan-dev/capstan/server/internal/doctor"
)

// errFindings ends the command doctor, which has shown what it found.
var errFindings = errors.New("the findings above need somebody")

func newDoctor(signals catcher) *cobra.Command {
	var (
		subject doctor.Subject
		named   = pairs()
		address string
		port    uint16
		output  outputFlag
	)
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Look for what keeps a server from starting, or from working well",
		Long: `Look at a server's machine (its data directory, disk, port, certificates, the limits of the system), and, if
it runs, at its readiness, clock, webhooks, definitions, extension servers and the deprecated versions that
clients use. Each finding has a remedy. Nothing is changed. Webhooks are tried from here: the server may
reach others than this machine does. Give the flags that serve has, as far as this command has them.

The exit code is 0 without findings, 1 with some, and 2 when the command line is wrong.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := output.check(); err != nil {
				return err
			}
			ctx, stop := until(cmd.Context(), signals(os.Interrupt, syscall.SIGTERM))
			defer stop()
			subject.Now = time.Now()
			if subject.CertDir == "" {
				subject.CertDir = filepath.Join(subject.DataDir, "pki")
			}
			for _, p := range named {
				if p.File != "" {
					subject.Certificates = append(subject.Certificates, p.Certificate)
				}
			}
			subject.Address = net.JoinHostPort(address, strconv.Itoa(int(port)))
			report := doctor.Examine(ctx, &subject)
			show := showReport
			if output.json() {
				show = func(out io.Writer, r *doctor.Report) error { return writeJSON(out, r) }
			}
			if err := show(cmd.OutOrStdout(), report); err != nil {
				return err
			}
			if len(report.Findings) > 0 {
				return errFindings
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&subject.DataDir, "data-dir", "./capstan-data", "data directory of the server")
	f.StringVar(&subject.CertDir, "cert-dir", "", "directory of its certificates (default <data-dir>/pki)")
	f.StringVar(&address, "bind-address", "127.0.0.1", "address on which it listens, or will")
	f.Uint16Var(&port, "secure-port", 6443, "port on which it listens, or will")
	f.StringVar(&subject.Kubeconfig, "kubeconfig", "", "kubeconfig of an administrator (default <data-dir>/admin.kubeconfig, if it is there)")
	for _, p := range named {
		p.add(cmd)
	}
	output.add(f, "form of the report: json (default: text)")
	return cmd
}

// pair are two flags of serve that name a certificate and its key.
type pair struct {
	doctor.Certificate
	fileFlag, keyFlag, usage string
}

func (p *pair) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&p.File, p.fileFlag, "", p.usage)
	if p.keyFlag != "" {
		f.StringVar(&p.Key, p.keyFlag, "", "private key of --"+p.fileFlag+", PEM")
		cmd.MarkFlagsRequiredTogether(p.fileFlag, p.keyFlag)
	}
}

func pairs() []*pair {
	of := func(role doctor.Role, file, key, usage string) *pair {
		return &pair{doctor.Certificate{Role: role}, file, key, usage}
	}
	return []*pair{
		of(doctor.Serving, "tls-cert-file", "tls-private-key-file", "serving certificate with its chain, PEM"),
		of(doctor.Authority, "client-ca-file", "", "authorities whose client certificates are accepted, PEM"),
		of(doctor.Authority, "requestheader-client-ca-file", "", "authorities of proxies that name the user, PEM"),
		of(doctor.Client, "proxy-client-cert-file", "proxy-client-key-file", "client certificate by which extension servers know this server, PEM"),
		of(doctor.Client, "kubelet-client-certificate", "kubelet-client-key", "client certificate by which agents of nodes know this server, PEM"),
		of(doctor.Authority, "etcd-cafile", "", "authorities of the members of etcd, PEM"),
		of(doctor.Client, "etcd-certfile", "etcd-keyfile", "certificate by which etcd knows the server, PEM"),
	}
}

// showReport writes the checks and the findings.
func showReport(out io.Writer, report *doctor.Report) error {
	paint := coloursOf(out)
	if report.Server == "" {
		fmt.Fprintln(out, "no server answers: only its machine was looked at")
	} else {
		fmt.Fprintf(out, "the server %s answers\n", report.Server)
	}
	found := map[string]bool{}
	for _, f := range report.Findings {
		found[f.Check] = true
		severity := paint.yellow(string(f.Severity))
		if f.Severity == doctor.Problem {
			severity = paint.red(string(f.Severity))
		}
		fmt.Fprintf(out, "\n%s %s: %s\n    %s\n", severity, paint.bold(f.Check), f.Text, f.Remedy)
	}
	var fine []string
	for _, c := range report.Checks {
		if !found[c] {
			fine = append(fine, c)
		}
	}
	if len(report.Findings) > 0 {
		fmt.Fprintln(out)
	}
	_, err := fmt.Fprintf(out, "%s: %s\n", paint.green("nothing found"), strings.Join(fine, ", "))
	return err
}
