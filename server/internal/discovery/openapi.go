package discovery

import (
	"iter"
	"strings"

	"github.com/capstan-dev/capstan/internal/gen/openapi"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// OpenAPI are the OpenAPI v3 documents of the resources that a snapshot serves.
func OpenAPI(snapshot *catalog.Snapshot) iter.Seq[openapi.Document] {
	return func(yield func(openapi.Document) bool) {
		for _, doc := range openapi.V3() {
			if servesOpenAPI(snapshot, doc.Path) && !yield(doc) {
				return
			}
		}
	}
}

// servesOpenAPI reports whether the group or group version that a document describes is
// served: its path is apis/<group>/<version>, apis/<group>, or neither of these.
func servesOpenAPI(snapshot *catalog.Snapshot, path string) bool {
	rest, named := strings.CutPrefix(path, "apis/")
	if !named {
		return path != "api/v1" || snapshot.ServesGroup("")
	}
	return snapshot.ServesGroup(rest) || snapshot.ServedVersion(rest) != nil
}
