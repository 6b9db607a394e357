package document

import (
	"maps"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/capstan-dev/capstan/internal/quantity"
)

// formats are the named checks of strings. Each returns the mistakes.
var formats = map[string]func(string) []string{
	"absolute-path":     absolutePath,
	"cidr":              func(s string) []string { return details(validation.IsValidCIDRForLegacyField(nil, s, false, nil)) },
	"config-key":        validation.IsConfigMapKey,
	"dns1035-label":     validation.IsDNS1035Label,
	"dns1123-label":     validation.IsDNS1123Label,
	"dns1123-subdomain": validation.IsDNS1123Subdomain,
	"domain-name":       func(s string) []string { return validation.IsDNS1123Subdomain(strings.TrimSuffix(s, ".")) },
	"domain-path":       func(s string) []string { return details(validation.IsDomainPrefixedPath(nil, s)) },
	"driver-name":       func(s string) []string { return validation.IsDNS1123Subdomain(strings.ToLower(s)) },
	"env-var-name":      validation.IsEnvVarName,
	"file-path":         func(s string) []string { return badSteps("file-path", s) },
	"host-name":         hostName,
	"ip":                func(s string) []string { return details(validation.IsValidIPForLegacyField(nil, s, false, nil)) },
	"iscsi-name":        badISCSI,
	"label-value":       validation.IsValidLabelValue,
	"no-backsteps":      func(s string) []string { return badSteps("no-backsteps", s) },
	"ordinary-ip":       notOrdinary,
	"path-segment":      func(s string) []string { return path.IsValidPathSegmentName(s) },
	"port-name":         validation.IsValidPortName,
	"port-number":       portNumber,
	"qualified-name":    validation.IsQualifiedName,
	"quota-resource":    func(s string) []string { return badResource("quota-resource", s) },
	"relative-path":     func(s string) []string { return badSteps("relative-path", s) },
	"resource-name":     func(s string) []string { return badResource("resource-name", s) },
	"schedule":          badSchedule,
	"time-zone":         badZone,
	"whole-quantity":    fraction,
	"wildcard-name":     wildcardName,
}

// Formats lists the names that CheckFormat knows.
func Formats() []string { return slices.Sorted(maps.Keys(formats)) }

// CheckFormat applies a named check to a string and returns its mistakes, none if it is
// right. A name that is neither in Formats nor in TextFormats allows everything.
func CheckFormat(name, value string) []string {
	if wellFormed(name, value) {
		return nil
	}
	if check := formats[name]; check != nil {
		return check(value)
	}
	return badText(name, value)
}

// MaskDash makes a prefix of names that may end in a dash a valid name.
func MaskDash(prefix string) string {
	if n := len(prefix); n > 1 && prefix[n-1] == '-' {
		return prefix[:n-2] + "a"
	}
	return prefix
}

func absolutePath(value string) []string {
	if !strings.HasPrefix(value, "/") {
		return []string{"must be an absolute path"}
	}
	return nil
}

func hostName(value string) []string {
	problems := validation.IsDNS1123Subdomain(value)
	if net.ParseIP(value) != nil {
		problems = append(problems, "must be a DNS name, not an IP address")
	}
	return problems
}

// fraction refuses a quantity of whole things as 1.25 does: by its thousandths, which may
// wrap around.
func fraction(value string) []string {
	if q, err := quantity.Parse(value); err == nil && q.Milli()%1000 != 0 {
		return []string{"must be an integer"}
	}
	return nil
}

func wildcardName(value string) []string {
	if strings.Contains(value, "*") {
		return validation.IsWildcardDNS1123Subdomain(value)
	}
	return validation.IsDNS1123Subdomain(value)
}

func portNumber(value string) []string {
	port, err := strconv.Atoi(value)
	if err != nil {
		return []string{validation.InclusiveRangeError(1, 65535)}
	}
	return validation.IsValidPortNum(port)
}

// notOrdinary reports why traffic cannot be sent to an address.
func notOrdinary(address string) []string {
	ip, err := netip.ParseAddr(address)
	switch {
	case err != nil:
		return []string{"must be a valid IP address"}
	case ip.IsUnspecified():
		return []string{"may not be unspecified (" + ip.String() + ")"}
	case ip.IsLoopback():
		return []string{"may not be in the loopback range (127.0.0.0/8, ::1/128)"}
	case ip.IsLinkLocalUnicast():
		return []string{"may not be in the link-local range (169.254.0.0/16, fe80::/10)"}
	case ip.IsLinkLocalMulticast():
		return []string{"may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"}
	}
	return nil
}

// badISCSI reports what is wrong with a name that begins like one of a SCSI target or
// initiator.
func badISCSI(name string) []string {
	if iscsiPrefix.MatchString(name) && !iscsiName.MatchString(name) {
		return []string{"must be valid format"}
	}
	return nil
}

var (
	iscsiPrefix = regexp.MustCompile(`^(iqn|eui|naa)`)
	iscsiName   = regexp.MustCompile(`^(iqn\.[0-9]{4}-[0-9]{2}\.[[:alnum:].-]+(:[^,;*&$|\s]+)|eui\.[[:alnum:]]{16}|naa\.[[:alnum:]]{32})$`)
)

// standardResource matches the names of resources that need no domain.
var standardResource = regexp.MustCompile(`^((requests\.|limits\.)?(cpu|memory|ephemeral-storage)|(requests\.)?storage|pods|resourcequotas|` +
	`services(\.nodeports|\.loadbalancers)?|replicationcontrollers|secrets|persistentvolumeclaims|configmaps|(requests\.)?hugepages-.*)$`)

// badResource reports the mistakes in the name of a resource in amounts.
func badResource(check, name string) []string {
	problems := validation.IsQualifiedName(name)
	if strings.Contains(name, "/") {
		return problems
	}
	standard := standardResource.MatchString(name)
	if len(problems) == 0 && !standard {
		problems = append(problems, "must be a standard resource type or fully qualified")
	}
	if check == "quota-resource" && (!standard || name == "storage") {
		problems = append(problems, "must be a standard resource for quota")
	}
	return problems
}

// badSteps reports steps of a path that must stay below another one. The path of a file
// in a volume must not look like those that the node's agent makes there, either.
func badSteps(name, path string) (problems []string) {
	if name != "no-backsteps" && strings.HasPrefix(path, "/") {
		problems = append(problems, "must be a relative path")
	}
	if strings.Contains("/"+path+"/", "/../") {
		problems = append(problems, "must not contain '..'")
	}
	if name == "file-path" && strings.HasPrefix(path, "..") && !strings.HasPrefix(path, "../") {
		problems = append(problems, "must not start with '..'")
	}
	return problems
}

func details(errs field.ErrorList) []string {
	var texts []string
	for _, err := range errs {
		texts = append(texts, err.Detail)
	}
	return texts
}
