package options

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// inertFlags are flags of kube-apiserver 1.25 that have no effect here.
type inertFlags struct {
	switches, options string // names, with spaces between

	// refusal is the reason why the server does not start with them, and the remedy; ""
	// for flags that it accepts.
	refusal string
	// without names the missing function, for the log, when the server starts with them.
	without string
}

// inert are all such flags. The lists also have those that were deprecated or added
// around that release, so that a command line that once worked is understood.
//
// Whether a flag is refused follows from the effect of its absence. A flag that closes,
// records, bounds or encrypts something is relied upon: without effect the server is less
// protected than the operator believes, and nobody notices. The absence of a flag that
// opens something (a way to log in, a right) is noticed at once.
var inert = []inertFlags{
	{
		options: "strict-transport-security-directives",
		refusal: "this server does not send the header Strict-Transport-Security; leave it out, or let a proxy add it",
	}, {
		options: "egress-selector-config-file",
		refusal: "this server connects to nodes, webhooks and extension servers by itself, not through a proxy; leave it out, and let the network decide what the server reaches",
	}, {
		options: "max-connection-bytes-per-sec",
		refusal: "this server does not bound the bytes a second of a connection; leave it out, or let a proxy bound them",
	}, {
		switches: "experimental-logging-sanitization kubelet-https",
		without:  "the log never has secrets, and nodes are reached by https only: these flags change neither",
	}, {
		switches: `contention-profiling
			enable-garbage-collector enable-logs-handler
			log-json-split-stream permit-address-sharing permit-port-sharing
			watch-cache add-dir-header alsologtostderr logtostderr one-output skip-headers skip-log-headers`,
		options: `allow-metric-labels apiserver-count azure-container-registry-config
			cloud-config cloud-provider cloud-provider-gce-l7lb-src-cidrs cloud-provider-gce-lb-src-cidrs cors-allowed-origins
			default-watch-cache-size delete-collection-workers disabled-metrics endpoint-reconciler-type
			identity-lease-duration-seconds identity-lease-renew-interval-seconds
			kubelet-read-only-port kubernetes-service-node-port
			log-backtrace-at log-dir log-file log-file-max-size log-flush-frequency
			log-json-info-buffer-size master-service-namespace
			stderrthreshold storage-backend
			target-ram-mb vmodule watch-cache-sizes`,
		without: "these flags have no effect on this server",
	},
}

// AddInert defines the flags that have no effect, hidden from the help.
func AddInert(fs *pflag.FlagSet) {
	for i := range inert {
		for name := range strings.FieldsSeq(inert[i].options) {
			fs.VarPF(&inertValue{flags: &inert[i]}, name, "", "has no effect").Hidden = true
		}
		for name := range strings.FieldsSeq(inert[i].switches) {
			f := fs.VarPF(&inertValue{flags: &inert[i], on: new(bool)}, name, "", "has no effect")
			f.NoOptDefVal = "true" // else the next argument would be taken for the value
			f.Hidden = true
		}
	}
	f := fs.VarPF(new(mustBeTrue), "allow-privileged", "", "has to be true: privileged containers are not refused")
	f.NoOptDefVal = "true"
	f.Hidden = true
}

// inertIn finds the flags without effect in a parsed command line.
func inertIn(fs *pflag.FlagSet) ([]Warning, error) {
	var refusals []error
	var found []Warning
	for i := range inert {
		var names []string
		fs.Visit(func(f *pflag.Flag) {
			if v, ok := f.Value.(*inertValue); ok && v.flags == &inert[i] && (v.set() || v.flags.refusal == "") {
				names = append(names, "--"+f.Name)
			}
		})
		switch {
		case names == nil:
		case inert[i].refusal != "":
			refusals = append(refusals, fmt.Errorf("%s: %s", strings.Join(names, " "), inert[i].refusal))
		default:
			found = append(found, Warning{names, inert[i].without})
		}
	}
	return found, errors.Join(refusals...)
}

// inertValue is the value of a flag without effect.
type inertValue struct {
	flags *inertFlags
	on    *bool // the value of a switch; nil for flags of other types
	given bool  // a text that is neither empty nor 0
}

// set reports whether the flag has an effective value.
func (v *inertValue) set() bool { return v.given || v.on != nil && *v.on }

func (v *inertValue) String() string { return "" }
func (v *inertValue) Type() string {
	if v.on != nil {
		return "bool"
	}
	return "string"
}
func (v *inertValue) Set(text string) error {
	if v.on == nil {
		v.given = v.given || text != "" && text != "0"
		return nil
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		return fmt.Errorf("%q is neither true nor false", text)
	}
	*v.on = on
	return nil
}

// mustBeTrue is a switch that cannot be turned off.
type mustBeTrue struct{}

func (*mustBeTrue) String() string { return "" }
func (*mustBeTrue) Type() string   { return "bool" }
func (*mustBeTrue) Set(text string) error {
	on, err := strconv.ParseBool(text)
	if err != nil {
		return fmt.Errorf("%q is neither true nor false", text)
	}
	if !on {
		return errors.New("this server does not refuse privileged containers; leave the flag out, and refuse them with a policy of your own")
	}
	return nil
}
