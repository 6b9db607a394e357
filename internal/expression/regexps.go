package expression

import (
	"regexp"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// regexpFunctions find the matches of regular expressions in strings.
func regexpFunctions() map[string][]cel.FunctionOpt {
	s := types.StringType
	return map[string][]cel.FunctionOpt{
		"find": {member("string_find_string", s, cel.BinaryBinding(func(text, pattern ref.Val) ref.Val { return finding(nil, first, text, pattern) }), s, s)},
		"findAll": {
			member("string_find_all_string", cel.ListType(s), cel.BinaryBinding(func(text, pattern ref.Val) ref.Val { return finding(nil, all, text, pattern) }), s, s),
			member("string_find_all_string_int", cel.ListType(s), cel.FunctionBinding(func(args ...ref.Val) ref.Val {
				return finding(nil, all,
					args...)
			}), s, s, types.IntType),
		},
	}
}

// finding calls find with a text, a pattern and perhaps the greatest number of matches.
// re is the compiled pattern, nil to compile it.
func finding(re *regexp.Regexp, find func(re *regexp.Regexp, text string, most int) ref.Val, args ...ref.Val) ref.Val {
	text, ok := args[0].(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(args[0])
	}
	if re == nil {
		pattern, ok := args[1].(types.String)
		if !ok {
			return types.MaybeNoSuchOverloadErr(args[1])
		}
		var err error
		if re, err = regexp.Compile(string(pattern)); err != nil {
			return types.NewErr("Illegal regex: %v", err)
		}
	}
	most := types.Int(-1)
	if len(args) > 2 {
		if most, ok = args[2].(types.Int); !ok {
			return types.MaybeNoSuchOverloadErr(args[2])
		}
	}
	return find(re, string(text), int(most))
}

func first(re *regexp.Regexp, text string, _ int) ref.Val { return types.String(re.FindString(text)) }

func all(re *regexp.Regexp, text string, most int) ref.Val {
	return types.NewStringList(types.DefaultTypeAdapter, re.FindAllString(text, most))
}
