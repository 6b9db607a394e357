package emit

import (
	"testing"

	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// TestActionMethods: the method of an action that is not of an object has a name that further versions leave alone, and
// each form of action has a signature and an adapter of its own.
func TestActionMethods(t *testing.T) {
	m := &model.Model{}
	version := func(name string, priority int, effect string) *model.Resource {
		gv := &model.GroupVersion{Group: "shop.example.com", Version: name, Dir: "shop/" + name, VersionPriority: priority, Served: true}
		kind := &model.Type{GV: gv, Name: "Sale", Schema: &schema.Schema{}}
		gv.Resources = []*model.Resource{{GV: gv, Plural: "sales", Kind: "Sale", Type: kind, Action: &model.Action{Effect: effect, Answer: kind}}}
		m.GroupVersions = append(m.GroupVersions, gv)
		return gv.Resources[0]
	}
	second, first := version("v1", 20, "reads"), version("v1beta1", 10, "writes")
	if a, b := performs(m, first), performs(m, second); a != "PerformSale" || b != "PerformSaleInShopV1" {
		t.Errorf("the methods are %s and %s", a, b)
	}
	sub := func(effect, verb string) *model.Subresource {
		return &model.Subresource{Name: "look", Verbs: []string{verb}, Type: first.Type, Action: &model.Action{Effect: effect, Answer: first.Type}}
	}
	for _, c := range []struct {
		method             actionMethod
		adapter, signature string
	}{
		{newActionMethod("X", first, nil), "Writes", "(ctx context.Context, call *action.Command, body *shopv1beta1.Sale) (*shopv1beta1.Sale, error)"},
		{newActionMethod("X", second, nil), "Reads", "(ctx context.Context, call *action.Query, body *shopv1.Sale) (*shopv1.Sale, error)"},
		{newActionMethod("X", version("v2", 30, "streams"), nil), "Streams", "(ctx context.Context, call *action.Query, body *shopv2.Sale, send func(*shopv2.Sale) error) error"},
		{newActionMethod("X", first, sub("writes", "create")), "Writes", "(ctx context.Context, call *action.Call[shopv1beta1.Sale], body *shopv1beta1.Sale) (*shopv1beta1.Sale, error)"},
		{newActionMethod("X", first, sub("reads", "get")), "Shows", "(ctx context.Context, call *action.View[shopv1beta1.Sale]) (*shopv1beta1.Sale, error)"},
		{newActionMethod("X", first, sub("streams", "get")), "ShowsStream", "(ctx context.Context, call *action.View[shopv1beta1.Sale], send func(*shopv1beta1.Sale) error) error"},
	} {
		if a, s := c.method.Adapter(), c.method.Signature(); a != c.adapter || s != c.signature {
			t.Errorf("got %s %s\nwant %s %s", a, s, c.adapter, c.signature)
		}
	}
}
