package expression

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/capstan-dev/capstan/openapi"
)

// version is a semantic version without its build metadata, which does not count.
type version struct {
	numbers [3]uint64 // major, minor, patch
	pre     []string  // the parts of the pre-release
}

var semantic = &class[version]{is: cel.ObjectType(openapi.Word() + ".Semver"), equal: func(a, b version) bool { return a.compare(b) == 0 }}

var errVersion = errors.New("invalid semantic version: it has to be MAJOR.MINOR.PATCH, with numbers without leading zeros")

// parseVersion reads "1.2.3-rc.1+build".
func parseVersion(text string) (v version, err error) {
	text, build, hasBuild := strings.Cut(text, "+")
	text, pre, hasPre := strings.Cut(text, "-")
	parts := strings.Split(text, ".")
	if len(parts) != len(v.numbers) {
		return v, errVersion
	}
	for i, part := range parts {
		if !isNumber(part) || len(part) > 1 && part[0] == '0' {
			return v, errVersion
		}
		if v.numbers[i], err = strconv.ParseUint(part, 10, 64); err != nil {
			return v, errVersion
		}
	}
	if hasPre {
		v.pre = strings.Split(pre, ".")
	}
	for _, part := range v.pre {
		if !isIdentifier(part) || isNumber(part) && len(part) > 1 && part[0] == '0' {
			return v, errVersion
		}
	}
	if hasBuild && !slices.ContainsFunc(strings.Split(build, "."), func(part string) bool { return !isIdentifier(part) }) || !hasBuild {
		return v, nil
	}
	return v, errVersion
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func isIdentifier(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	})
}

// normalized makes a version of a tag like "v1.02": without the letter and leading zeros,
// with all three numbers.
func normalized(text string) (string, error) {
	parts := strings.SplitN(strings.TrimPrefix(text, "v"), ".", 3)
	for i, part := range parts {
		if len(part) > 1 {
			if part = strings.TrimLeft(part, "0"); part == "" || part[0] < '0' || part[0] > '9' {
				part = "0" + part
			}
			parts[i] = part
		}
	}
	if len(parts) < 3 && strings.ContainsAny(parts[len(parts)-1], "+-") {
		return "", errors.New("short version cannot contain PreRelease/Build meta data")
	}
	for len(parts) < 3 {
		parts = append(parts, "0")
	}
	return strings.Join(parts, "."), nil
}

// compare orders versions: one without a pre-release is later than one with it, numbers
// come before texts.
func (v version) compare(w version) int {
	if order := slices.Compare(v.numbers[:], w.numbers[:]); order != 0 {
		return order
	}
	if len(v.pre) == 0 || len(w.pre) == 0 {
		return cmp.Compare(len(w.pre), len(v.pre))
	}
	return slices.CompareFunc(v.pre, w.pre, func(a, b string) int {
		switch numberA, numberB := isNumber(a), isNumber(b); {
		case numberA && numberB:
			return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
		case numberA:
			return -1
		case numberB:
			return 1
		}
		return strings.Compare(a, b)
	})
}

// toVersion reads a version, normalized or not.
func toVersion(args ...ref.Val) (version, ref.Val) {
	text, ok := args[0].(types.String)
	if !ok {
		return version{}, types.MaybeNoSuchOverloadErr(args[0])
	}
	s := string(text)
	if len(args) > 1 {
		normalize, ok := args[1].(types.Bool)
		if !ok {
			return version{}, types.MaybeNoSuchOverloadErr(args[1])
		}
		if normalize {
			var err error
			if s, err = normalized(s); err != nil {
				return version{}, types.WrapErr(err)
			}
		}
	}
	v, err := parseVersion(s)
	if err != nil {
		return version{}, types.WrapErr(err)
	}
	return v, nil
}

// versionFunctions compare semantic versions.
func versionFunctions() map[string][]cel.FunctionOpt {
	is, i, b, s := semantic.is, types.IntType, types.BoolType, types.StringType
	read := func(args ...ref.Val) ref.Val {
		v, failed := toVersion(args...)
		if failed != nil {
			return failed
		}
		return semantic.of(v)
	}
	test := func(args ...ref.Val) ref.Val {
		_, failed := toVersion(args...)
		return types.Bool(failed == nil)
	}
	functions := map[string][]cel.FunctionOpt{
		"semver": {
			function("string_to_semver", is, cel.UnaryBinding(func(text ref.Val) ref.Val { return read(text) }), s),
			function("string_bool_to_semver", is, cel.BinaryBinding(func(text, normalize ref.Val) ref.Val { return read(text, normalize) }), s, b)},
		"isSemver": {
			function("is_semver_string", b, cel.UnaryBinding(func(text ref.Val) ref.Val { return test(text) }), s),
			function("is_semver_string_bool", b, cel.BinaryBinding(func(text, normalize ref.Val) ref.Val { return test(text, normalize) }), s, b)},
		"isGreaterThan": {member("semver_is_greater_than", b, binary(semantic, func(v, w version) ref.Val { return types.Bool(v.compare(w) > 0) }), is, is)},
		"isLessThan":    {member("semver_is_less_than", b, binary(semantic, func(v, w version) ref.Val { return types.Bool(v.compare(w) < 0) }), is, is)},
		"compareTo":     {member("semver_compare_to", i, binary(semantic, func(v, w version) ref.Val { return types.Int(v.compare(w)) }), is, is)},
	}
	for n, name := range [...]string{"major", "minor", "patch"} {
		functions[name] = []cel.FunctionOpt{member("semver_"+name, i, unary(semantic, func(v version) ref.Val { return types.Int(v.numbers[n]) }), is)}
	}
	return functions
}
