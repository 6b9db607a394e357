package expression

import (
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types/ref"
)

// demand is the need of a call: bytes for the value that it makes, at most, and steps to
// make it. A step is a unit of cost, some 100 ns. Both may be any product of sizes.
type demand struct{ bytes, steps float64 }

// pricer prices a call by its arguments, none of which is an error.
type pricer func(b *Bindings, args []ref.Val) demand

// Sizes of values in memory, in bytes.
const (
	listBytes  = 64
	entryBytes = 96 // of a map, with the hash table
	elemBytes  = 32 // of a list, while it is made
	partBytes  = 48 // of a list of texts, besides what it shares with the whole
)

// runeBytes is the number of bytes of texts that are looked at in one step.
const runeBytes = 256

// pricers are the prices of all functions that make values, or look at all of one.
// Functions that are not among them are in constantWork.
var pricers = makePricers()

func makePricers() map[string]pricer {
	all := map[string]pricer{
		operators.Add:           priceAdd,
		operators.Equals:        priceEqual,
		operators.NotEquals:     priceEqual,
		operators.In:            priceIn,
		operators.OldIn:         priceIn,
		"in":                    priceIn,
		"cel.@mapInsert":        priceInsert,
		"find":                  priceMatch(1, 0),
		"findAll":               priceMatch(1, partBytes),
		"matches":               priceMatch(0, 0),
		"replace":               priceReplace,
		"split":                 priceSplit,
		"join":                  priceJoin,
		"format":                priceFormat,
		"lists.range":           priceRange,
		"flatten":               priceFlatten,
		"distinct":              priceDistinct,
		"sort":                  priceSort,
		"@sortByAssociatedKeys": priceSort,
		"slice":                 priceElements,
		"reverse":               priceElements,
		"sets.contains":         priceSets,
		"sets.equivalent":       priceSets,
		"sets.intersects":       priceSets,
		"indexOf":               priceSearch,
		"lastIndexOf":           priceSearch,
		"quantity":              priceQuantity,
		"isQuantity":            priceQuantity,
		"size":                  priceSize,
		"contains":              priceSize,
		"isSorted":              priceEach,
		"min":                   priceEach,
		"max":                   priceEach,
		"sum":                   priceEach,
		"getQuery":              priceText(128),
		"strings.quote":         priceText(4), // the smallest part of text that cannot be shown is replaced by 3 bytes
		"jsonpatch.escapeKey":   priceText(2),
		"string":                priceText(3),
		"bytes":                 priceText(1),
		"charAt":                priceText(1),
		"lowerAscii":            priceText(3),
		"upperAscii":            priceText(3),
		"substring":             priceText(3),
		"trim":                  priceText(1),
		"validate":              priceText(4),
	}
	for _, name := range [...]string{"bool", "double", "int", "uint", "duration", "timestamp", "url", "isURL", "ip", "isIP", "ip.isCanonical", "cidr", "isCIDR",
		"containsIP", "containsCIDR", "semver", "isSemver", "serviceAccount", "path", "group", "resource", "subresource", "namespace", "name",
		"fieldSelector", "labelSelector", "check", "getEscapedPath", "getHost", "getHostname", "getPort", "getScheme", "format.named"} {
		all[name] = priceText(4) // errors show their operand
	}
	for _, name := range [...]string{"getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getFullYear", "getHours", "getMilliseconds", "getMinutes",
		"getMonth", "getSeconds"} {
		all[name] = priceMoment
	}
	return all
}

// constantWork are the functions that take the same time for all arguments, and make
// small values or none.
var constantWork = []string{operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.Conditional, operators.NotStrictlyFalse,
	"__not_strictly_false__",
	operators.Negate, operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo,
	operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals, operators.Index, operators.OptIndex, operators.OptSelect,
	"cel.@block", "startsWith", "endsWith", "first", "last", "type", "dyn", "or", "orValue", "hasValue", "value", "optional.none", "optional.of",
	"optional.ofNonZeroValue",
	"optional.unwrap", "unwrapOpt", "add", "sub", "compareTo", "sign", "asInteger", "asApproximateFloat", "isInteger", "isGreaterThan", "isLessThan",
	"major", "minor", "patch", "family", "masked", "prefixLength", "isGlobalUnicast", "isLinkLocalMulticast", "isLinkLocalUnicast", "isLoopback", "isUnspecified",
	"allowed", "error", "errored", "reason",
	"format.byte", "format.date", "format.datetime", "format.dns1035Label", "format.dns1035LabelPrefix", "format.dns1123Label", "format.dns1123LabelPrefix",
	"format.dns1123Subdomain", "format.dns1123SubdomainPrefix", "format.labelValue", "format.qualifiedName", "format.uri", "format.uuid",
}
