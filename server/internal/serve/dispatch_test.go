package serve

import (
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/server/internal/endpoints"
	"github.com/capstan-dev/capstan/server/internal/verbs"
)

// Every endpoint for documents has functions, and a start finds one without a function
// for a verb.
func TestEndpointsHaveFunctions(t *testing.T) {
	functions := newTable(new(verbs.Verbs), new(endpoints.Endpoints))
	for _, e := range api.Endpoints() {
		if v := functions.endpoints[e]; len(v.Methods()) == 0 {
			t.Errorf("the endpoint %q has no function: add it to endpoints.Table", e)
		}
	}
	for _, c := range []struct {
		res  api.Resource
		want string
	}{
		{api.Resource{Plural: "pods", Stored: true, Verbs: api.VerbGet, Subresources: []api.Subresource{{Name: "status", Endpoint: api.EndpointStatus, Verbs: api.VerbGet}}}, ""},
		{api.Resource{Plural: "pods", Subresources: []api.Subresource{{Name: "log", Verbs: api.VerbGet}}}, `nothing answers GET on v1 pods/log: the endpoint "" has no function`},
		{api.Resource{Plural: "pods", Subresources: []api.Subresource{{Name: "log", Endpoint: "lok", Verbs: api.VerbCreate}}}, `nothing answers POST on v1 pods/log: the endpoint "lok"`},
		{api.Resource{Plural: "reviews", Endpoint: api.EndpointReviewToken, Verbs: api.VerbDelete}, `nothing answers DELETE on v1 reviews: the endpoint "review-token"`},
	} {
		err := functions.check([]*api.GroupVersion{{Version: "v1", Resources: []api.Resource{c.res}}})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.res.Plural, err, c.want)
		}
	}
}
