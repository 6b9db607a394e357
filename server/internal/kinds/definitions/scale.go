package definitions

import (
	"fmt"
	"math"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// scaleCauses returns the mistakes in the members that the scale subresource shows.
func scaleCauses(paths *api.ScalePaths, obj document.Value) []schema.Cause {
	var c causes
	for _, path := range [...][]string{paths.SpecReplicas, paths.StatusReplicas} {
		field, v := "."+strings.Join(path, "."), obj.At(path...)
		if !v.Exists() {
			for i := range path { // a step leads through what is no object
				if above := obj.At(path[:i]...); i > 0 && isSet(above) && above.Kind() != document.Object {
					c.InvalidText(field, "0", fmt.Sprintf("%s accessor error: %s is of the type %s, expected map[string]interface{}", field,
						document.Shown(above), above.Kind()))
					break
				}
			}
			continue
		}
		switch n, whole := v.Int(); {
		case !whole:
			c.InvalidText(field, "0", fmt.Sprintf("%s accessor error: %s is of the type %s, expected int64", field, document.Shown(v), v.Kind()))
		case n < 0:
			c.InvalidAt(field, v, "should be a non-negative integer")
		case n > math.MaxInt32:
			c.InvalidAt(field, v, fmt.Sprintf("should be less than or equal to %d", math.MaxInt32))
		}
	}
	if v := obj.At(paths.Selector...); len(paths.Selector) > 0 && v.Exists() && v.Kind() != document.String {
		field := "." + strings.Join(paths.Selector, ".")
		c.InvalidText(field, "", fmt.Sprintf("%s accessor error: %s is of the type %s, expected string", field, document.Shown(v), v.Kind()))
	}
	return c.Causes
}
