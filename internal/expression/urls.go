package expression

import (
	"net/url"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/capstan-dev/capstan/openapi"
)

var urls = &class[*url.URL]{is: cel.ObjectType(openapi.Word() + ".URL"),
	equal: func(a, b *url.URL) bool { return a.String() == b.String() }, text: (*url.URL).String}

// urlFunctions take URLs apart: absolute ones, and absolute paths.
func urlFunctions() map[string][]cel.FunctionOpt {
	functions := map[string][]cel.FunctionOpt{
		"url": {function("string_to_url", urls.is, ofText(func(s string) ref.Val {
			u, err := parseURL(s)
			if err != nil {
				return types.NewErr("URL parse error during conversion from string: %v", err)
			}
			return urls.of(u)
		}), types.StringType)},
		"isURL": {function("is_url_string", types.BoolType, ofText(func(s string) ref.Val {
			_, err := url.ParseRequestURI(s)
			return types.Bool(err == nil)
		}), types.StringType)},
		"getQuery": {member("url_get_query", cel.MapType(types.StringType, cel.ListType(types.StringType)), unary(urls, func(u *url.URL) ref.Val {
			query := map[ref.Val]ref.Val{}
			for key, values := range u.Query() {
				query[types.String(key)] = types.NewStringList(types.DefaultTypeAdapter, values)
			}
			return types.NewRefValMap(types.DefaultTypeAdapter, query)
		}), urls.is)},
	}
	for _, part := range []struct {
		name, id string
		of       func(*url.URL) string
	}{
		{"getScheme", "url_get_scheme", func(u *url.URL) string { return u.Scheme }},
		{"getHost", "url_get_host", func(u *url.URL) string { return u.Host }},
		{"getHostname", "url_get_hostname", (*url.URL).Hostname},
		{"getPort", "url_get_port", (*url.URL).Port},
		{"getEscapedPath", "url_get_escaped_path", (*url.URL).EscapedPath},
	} {
		functions[part.name] = []cel.FunctionOpt{member(part.id, types.StringType,
			unary(urls, func(u *url.URL) ref.Val { return types.String(part.of(u)) }), urls.is)}
	}
	return functions
}

// parseURL reads an absolute URL or path. The strict parser has no fragments, so a second
// one takes the URL apart.
func parseURL(s string) (*url.URL, error) {
	if _, err := url.ParseRequestURI(s); err != nil {
		return nil, err
	}
	return url.Parse(s)
}
