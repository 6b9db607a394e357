package options

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/suggest"
	"github.com/capstan-dev/capstan/server/internal/discovery"
)

// stage is the maturity of a feature.
type stage uint8

const (
	alpha      stage = iota // off unless it is turned on
	beta                    // on unless it is turned off
	stable                  // on unless it is turned off, which most cannot be: the gate exists for old command lines
	deprecated              // may be set, with a warning
)

var stageNames = [...]string{alpha: "ALPHA", beta: "BETA", stable: "GA", deprecated: "DEPRECATED"}

// stageWords name the stages of gates that will go, in warnings.
var stageWords = map[stage]string{stable: "GA", deprecated: "deprecated"}

// feature is a feature with a gate.
type feature struct {
	stage  stage
	on     bool     // by default
	locked bool     // the gate keeps its default
	needs  []string // the features without which it cannot be on
	ended  bool     // of an earlier release: the gate cannot be set any more
	// does describes the effect of the gate here; "" when it has none.
	does string
}

// Features that the server's code checks.
const (
	ListChunking      = "APIListChunking"
	FieldValidation   = "ServerSideFieldValidation"
	RemainingCount    = "RemainingItemCount"
	Compression       = "APIResponseCompression"
	OpenAPIV3         = "OpenAPIV3"
	VersionHashes     = "StorageVersionHash"
	PriorityFairness  = "APIPriorityAndFairness"
	CBOR              = "CBORServingAndStorage"
	DryRun            = "DryRun"
	ServiceRanges     = "MultiCIDRServiceAllocator"
	NoDualWrites      = "DisableAllocatorDualWrite"
	allAlpha, allBeta = "AllAlpha", "AllBeta"
)

// Gates reports for each feature by name whether it is on.
type Gates map[string]bool

// On reports whether a feature is on. An unknown one is off.
func (f Gates) On(name string) bool { return f[name] }

// Effective are the gates of a release that have an effect, each with the name of its stage.
func Effective(release string) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for name, f := range featuresOf(release) {
			if !f.ended && f.does != "" && !yield(name, stageNames[f.stage]) {
				return
			}
		}
	}
}

// MarkGated notes on the resources which of their fields are dropped, and which deprecated, and takes away subresources
// whose gates are off.
func (f Gates) MarkGated(groups []*api.GroupVersion) {
	for _, gv := range groups {
		for i := range gv.Resources {
			res := &gv.Resources[i]
			res.Subresources = slices.DeleteFunc(res.Subresources, func(s api.Subresource) bool { return s.Gate != "" && !f[s.Gate] })
			res.Gated = document.NewGated(gv.Table, res.Type, f.On)
			res.Outdated = document.OutdatedFields(gv.Table, res.Type)
		}
	}
}

// HideGated has the resources not served whose features are off, whatever else turned them on.
func (f Gates) HideGated(groups []*api.GroupVersion) {
	for _, gv := range groups {
		for i := range gv.Resources {
			if gate := gv.Resources[i].Gate; gate != "" && !f.On(gate) {
				gv.Resources[i].Off = true
			}
		}
	}
}

// Parse reads <name>=true or =false; a later one of a name wins, and a name wins over
// AllAlpha and AllBeta. The gates are those of a release. warnings are for the operator.
func Parse(pairs []string, release string) (f Gates, warnings []string, err error) {
	all, asked := featuresOf(release), map[string]bool{}
	var errs []error
	for _, pair := range pairs {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		name, value, err := all.cut(pair)
		if err != nil {
			errs = append(errs, fmt.Errorf("--feature-gates %s: %w", pair, err))
			continue
		}
		asked[name] = value
	}
	f = Gates{}
	for name, known := range all {
		on := known.on
		if v, set := asked[allAlpha]; set && known.stage == alpha && !known.ended {
			on = v
		}
		if v, set := asked[allBeta]; set && known.stage == beta && !known.ended {
			on = v
		}
		if v, set := asked[name]; set {
			on = v
		}
		f[name] = on
	}
	if len(errs) == 0 {
		errs = all.unmet(f)
	}
	return f, all.warnings(asked), errors.Join(errs...)
}

// unmet finds the features that are on without others that they need.
func (all features) unmet(f Gates) (errs []error) {
	for _, name := range slices.Sorted(maps.Keys(f)) {
		off := slices.DeleteFunc(slices.Clone(all[name].needs), f.On)
		if f[name] && len(off) > 0 {
			errs = append(errs, fmt.Errorf("%s is enabled, but depends on features that are disabled: %v", name, off))
		}
	}
	return errs
}

// warnings are those of kube-apiserver about gates that will go, and one about gates without an effect here.
func (all features) warnings(asked map[string]bool) (warnings []string) {
	var idle []string
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		known, ok := all[name]
		if word := stageWords[known.stage]; word != "" {
			warnings = append(warnings, fmt.Sprintf("Setting %s feature gate %s=%v. It will be removed in a future release.", word, name, asked[name]))
		}
		if ok && known.does == "" && asked[name] != known.on || name == allAlpha && asked[name] { // none of the many has an effect
			idle = append(idle, name)
		}
	}
	if len(idle) > 0 {
		warnings = append(warnings, "these feature gates have no effect on this server: "+strings.Join(idle, ", "))
	}
	return warnings
}

// cut reads one gate and checks that it can be set so.
func (all features) cut(pair string) (name string, value bool, err error) {
	name, text, given := strings.Cut(pair, "=")
	name, text = strings.TrimSpace(name), strings.TrimSpace(text)
	known, ok := all[name]
	if ok = ok && !known.ended; !ok && name != allAlpha && name != allBeta {
		if nearest := all.nearest(name); nearest != "" {
			return "", false, fmt.Errorf("there is no feature gate %s; did you mean %s?", name, nearest)
		}
		return "", false, fmt.Errorf("there is no feature gate %s; see --help", name)
	}
	if !given {
		return "", false, fmt.Errorf("a value is missing; write %s=true or %s=false", name, name)
	}
	if value, err = strconv.ParseBool(text); err != nil {
		return "", false, fmt.Errorf("%q is neither true nor false", text)
	}
	if known.locked && value != known.on {
		return "", false, fmt.Errorf("cannot set feature gate %s to %v, feature is locked to %v", name, value, known.on)
	}
	return name, value, nil
}

// nearest is the existing gate with the most similar name; "" when none is
// similar.
func (all features) nearest(name string) string {
	lower := map[string]string{}
	for _, known := range append(slices.Sorted(maps.Keys(all)), allAlpha, allBeta) {
		if all[known].ended {
			continue
		}
		lower[strings.ToLower(known)] = known
	}
	return lower[suggest.Nearest(strings.ToLower(name), slices.Values(slices.Sorted(maps.Keys(lower))))]
}

// Help lists the gates of the usual release that have an effect, for the help.
func Help() string {
	var text strings.Builder
	text.WriteString("features to turn on or off, <name>=true or =false with commas between; the others of kube-apiserver 1.25 are accepted. AllAlpha and AllBeta stand for all of a stage")
	all := featuresOf(discovery.Usual)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if f := all[name]; f.does != "" && !f.locked {
			fmt.Fprintf(&text, "\n%s (%s, %v): %s", name, stageNames[f.stage], f.on, f.does)
		}
	}
	return text.String()
}

// CheckHiddenMetrics checks --show-hidden-metrics-for-version: only metrics hidden since
// the previous release can be shown again.
func CheckHiddenMetrics(version string) error {
	major, _, _ := strings.Cut(discovery.Usual, ".")
	previous := major + "." + strconv.Itoa(minorOf(discovery.Usual)-1)
	if version == "" || version == previous {
		return nil
	}
	return fmt.Errorf("hidden metrics: %q is not %s; only the release before this one can be named, or none", version, previous)
}
