package document

import (
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Formats lists the names that CheckFormat knows.
func Formats() []string {
	return []string{
		"absolute-path", "cidr", "config-key", "dns1035-label", "dns1123-label", "dns1123-subdomain", "domain-name", "domain-path", "driver-name",
		"env-var-name", "file-path", "host-name", "ip", "iscsi-name", "label-value", "no-backsteps", "ordinary-ip", "path-segment", "port-name", "port-number",
		"qualified-name", "relative-path", "wildcard-name",
	}
}

// CheckFormat applies a named check to a string and returns its mistakes, none if it is
// right. A name that is neither in Formats nor in TextFormats allows everything.
func CheckFormat(name, value string) []string {
	if wellFormed(name, value) {
		return nil
	}
	return checkFormat(name, value)
}

func checkFormat(name, value string) []string {
	switch name {
	case "domain-name": // it may end with a dot
		return validation.IsDNS1123Subdomain(strings.TrimSuffix(value, "."))
	case "dns1123-label":
		return validation.IsDNS1123Label(value)
	case "dns1123-subdomain":
		return validation.IsDNS1123Subdomain(value)
	case "dns1035-label":
		return validation.IsDNS1035Label(value)
	case "driver-name":
		return validation.IsDNS1123Subdomain(strings.ToLower(value))
	case "iscsi-name":
		return badISCSI(value)
	case "host-name":
		problems := validation.IsDNS1123Subdomain(value)
		if net.ParseIP(value) != nil {
			problems = append(problems, "must be a DNS name, not an IP address")
		}
		return problems
	case "wildcard-name":
		if strings.Contains(value, "*") {
			return validation.IsWildcardDNS1123Subdomain(value)
		}
		return validation.IsDNS1123Subdomain(value)
	case "domain-path":
		return details(validation.IsDomainPrefixedPath(nil, value))
	case "qualified-name":
		return validation.IsQualifiedName(value)
	case "label-value":
		return validation.IsValidLabelValue(value)
	case "config-key":
		return validation.IsConfigMapKey(value)
	case "env-var-name":
		return validation.IsEnvVarName(value)
	case "port-name":
		return validation.IsValidPortName(value)
	case "path-segment":
		return path.IsValidPathSegmentName(value)
	case "port-number":
		port, err := strconv.Atoi(value)
		if err != nil {
			return []string{validation.InclusiveRangeError(1, 65535)}
		}
		return validation.IsValidPortNum(port)
	case "absolute-path":
		if !strings.HasPrefix(value, "/") {
			return []string{"must be an absolute path"}
		}
	case "file-path", "no-backsteps", "relative-path":
		return badSteps(name, value)
	case "ordinary-ip":
		return notOrdinary(value)
	case "ip":
		return details(validation.IsValidIPForLegacyField(nil, value, false, nil))
	case "cidr":
		return details(validation.IsValidCIDRForLegacyField(nil, value, false, nil))
	}
	return badText(name, value)
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
