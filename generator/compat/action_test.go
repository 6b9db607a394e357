package compat

import (
	"fmt"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/generator/internal/emit"
	"github.com/capstan-dev/capstan/generator/internal/foreign"
	"github.com/capstan-dev/capstan/generator/internal/load"
	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/schema"
)

// actions are the documents of a module with two of them.
func actions(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{
		"go.mod":       "module shop.example.com\n",
		"release.yaml": readBase(t)["release.yaml"],
		shop: `openapi: 3.0.3
info: {title: shop, version: v1}
paths: {}
x-cluster-group: {name: shop.example.com, groupPriority: 100, versionPriority: 10}
x-cluster-resources:
  orders:
    kind: Order
    scope: Namespaced
    subresources:
      refund: {schema: Refund, action: {effect: reads, description: Says what is paid back., answer: Order}}
  sales:
    kind: Sale
    scope: Namespaced
    action: {effect: writes, description: Sells., answer: Order}
`,
		"schemas/shop/v1/Order.yaml":  "description: What somebody buys.\nproperties:\n  metadata: {}\n",
		"schemas/shop/v1/Refund.yaml": "description: Asks for money.\nproperties:\n  metadata: {}\n",
		"schemas/shop/v1/Sale.yaml":   "description: Asks for goods.\nproperties:\n  metadata: {}\n  note: {description: What the seller has to know., type: string, maxLength: 9}\n",
	}
}

// refund and sale are the actions.
const refund, sale = "{effect: reads, description: Says what is paid back., answer: Order}", "{effect: writes, description: Sells., answer: Order}"

// TestActions: an action that goes, does something else, or answers with something else is a break; so is one that
// streams now.
func TestActions(t *testing.T) {
	base := actions(t)
	for _, r := range []row{
		change("an action has another description", "", shop, "Sells.", "Sells it."),
		change("an action goes", "E:resource-removed", shop, "  sales:\n    kind: Sale\n    scope: Namespaced\n    action: "+sale+"\n", ""),
		change("an action of an object goes", "E:subresource-removed", shop, "      refund: {schema: Refund, action: "+refund+"}\n", "      status: {}\n"),
		change("an action stores what it is posted", "E:endpoint-changed E:resource-unstored W:resource-hook-changed", shop, "    action: "+sale+"\n", "    hooks: [validate]\n"),
		change("an action needs another verb", "E:action-verb-changed", shop, "Sells., answer: Order", "Sells., answer: Order, verb: sell"),
		since("an action needs the verb of its method", "E:action-verb-changed", shop, "Sells., answer: Order", "Sells., answer: Order, verb: sell", "Sells., answer: Order"),
		change("an action names the verb of its method", "", shop, "Sells., answer: Order", "Sells., answer: Order, verb: create"),
		change("an action only reads", "E:action-effect-changed", shop, "effect: writes", "effect: reads"),
		change("an action streams", "E:action-effect-changed", shop, "effect: writes", "effect: streams"),
		change("an action writes", "E:action-writes", shop, "effect: reads", "effect: writes"),
		change("an action of an object streams", "E:action-effect-changed", shop, "effect: reads", "effect: streams"),
		since("an action streams no more", "E:action-effect-changed", shop, "effect: reads", "effect: streams", "effect: reads"),
		change("an action answers with another kind", "E:action-answer-changed", shop, "Sells., answer: Order", "Sells., answer: Sale"),
		change("an action of an object answers with another kind", "E:action-answer-changed", shop, ", answer: Order}}", "}}"),
		change("a body may be less", "E:bounds-tightened", "schemas/shop/v1/Sale.yaml", "maxLength: 9", "maxLength: 8"),
		change("a member of a body can no longer change: no body comes in place of another", "", "schemas/shop/v1/Sale.yaml", "maxLength: 9", "maxLength: 9, x-cluster-immutable: true"),
		change("a body has to hold a member", "E:field-presence-changed E:field-required", "schemas/shop/v1/Sale.yaml", "maxLength: 9}\n", "maxLength: 9}\nrequired: [note]\n"),
		change("an action has another name", "E:subresource-removed", shop, "      refund:", "      repay:"),
		change("an action of an object has another kind of body", "E:subresource-kind-changed", shop, "{schema: Refund", "{schema: Sale"),
		change("an action is a GET", "E:subresource-verb-removed", shop, "{schema: Refund,", "{schema: Refund, verbs: [get],"),
		change("an action of a collection is one of the cluster", "E:resource-scope-changed", shop, "    kind: Sale\n    scope: Namespaced", "    kind: Sale\n    scope: Cluster"),
		change("a body may be more", "", "schemas/shop/v1/Sale.yaml", "maxLength: 9", "maxLength: 10"),
	} {
		t.Run(r.name, func(t *testing.T) {
			report := Compare(loaded(t, base, r.before), loaded(t, base, r.now), Options{Now: day})
			if got := verdict(report.Findings); got != r.want {
				t.Errorf("got %q, want %q: %v", got, r.want, report.Findings)
			}
		})
	}
}

// Published documents say as much about actions as those that they are made of, in either form and next to these.
func TestPublishedActions(t *testing.T) {
	base := actions(t)
	base[shop] = strings.Replace(base[shop], "      refund:", "      pay-back: {schema: Refund, action: "+sale+"}\n      refund:", 1)
	for _, r := range []row{
		change("nothing", "", shop, "Sells.", "Sells it."),
		change("an action needs another verb", "E:action-verb-changed", shop, "Sells., answer: Order", "Sells., answer: Order, verb: sell"),
		since("an action needs the verb of its method", "E:action-verb-changed", shop, "Sells., answer: Order", "Sells., answer: Order, verb: sell", "Sells., answer: Order"),
		change("an action names the verb of its method", "", shop, "Sells., answer: Order", "Sells., answer: Order, verb: create"),
		change("an action only reads", "E:action-effect-changed", shop, "effect: writes", "effect: reads"),
		change("an action streams", "E:action-effect-changed", shop, "effect: writes", "effect: streams"),
		change("an action writes", "E:action-writes", shop, "effect: reads", "effect: writes"),
		since("an action streams no more", "E:action-effect-changed", shop, "effect: reads", "effect: streams", "effect: reads"),
		change("an action answers with another kind", "E:action-answer-changed", shop, "Sells., answer: Order", "Sells., answer: Sale"),
		change("an action of an object answers with another kind", "E:action-answer-changed", shop, "back., answer: Order}}", "back.}}"),
		change("an action of a collection streams", "E:action-effect-changed", shop, "    action: {effect: writes", "    action: {effect: streams"),
		change("an action of a collection answers with another kind", "E:action-answer-changed", shop, "answer: Order}\n", "answer: Sale}\n"),
		change("an action with a hyphen goes", "E:subresource-removed", shop, "      pay-back: {schema: Refund, action: "+sale+"}\n", ""),
		change("an action with a hyphen streams", "E:action-effect-changed", shop, "Refund, action: {effect: writes", "Refund, action: {effect: streams"),
	} {
		t.Run(r.name, func(t *testing.T) {
			was, now := documentsOf(t, edited(t, base, r.before)), documentsOf(t, edited(t, base, r.now))
			for name, sides := range map[string][2]*Surface{"3.0": {exported(t, was, emit.OpenAPI30), exported(t, now, emit.OpenAPI30)}, "3.1": {exported(t, was, emit.OpenAPI31), exported(t, now, emit.OpenAPI31)},
				"documents and 3.0": {surfaceOf(was), exported(t, now, emit.OpenAPI30)}, "3.0 and documents": {exported(t, was, emit.OpenAPI30), surfaceOf(now)}} {
				if report := Compare(sides[0], sides[1], Options{Now: day}); verdict(report.Findings) != r.want {
					t.Errorf("%s: want %q: %v", name, r.want, report.Findings)
				}
			}
		})
	}
}

// TestEndsOfActions: an action of an object may go when its time is over, as a resource may, and no earlier.
func TestEndsOfActions(t *testing.T) {
	const beta = "openapi/shop/v1beta1.yaml"
	base := map[string]string{}
	for name, text := range actions(t) {
		base[strings.Replace(name, "shop/v1", "shop/v1beta1", 1)] = text
	}
	const ends, here = "answer: Order, deprecated: {since: %q, removedIn: %q}}}\n  sales", "answer: Order}}\n  sales"
	gone := edit{beta, "      refund: {schema: Refund, action: {effect: reads, description: Says what is paid back., ", "      status: {}\n"}
	for _, r := range []struct{ name, was, now, want string }{
		{"deprecated", here, fmt.Sprintf(ends, "1.6", "1.9"), ""},
		{"to go too early", here, fmt.Sprintf(ends, "1.6", "1.7"), "E:end-date-earlier"},
		{"to go earlier", fmt.Sprintf(ends, "1.2", "1.9"), fmt.Sprintf(ends, "1.2", "1.7"), "E:end-date-earlier"},
		{"gone without notice", here, "", "E:subresource-removed"},
		{"gone too early", fmt.Sprintf(ends, "1.4", "1.6"), "", "E:subresource-removed"},
		{"gone before its date", fmt.Sprintf(ends, "1.2", "1.8"), "", "E:subresource-removed"},
		{"gone when its time is over", fmt.Sprintf(ends, "1.2", "1.6"), "", "W:resource-ended"},
	} {
		old := loaded(t, base, []edit{{beta, here, r.was}})
		now := edited(t, base, []edit{{beta, here, r.now}})
		if r.now == "" {
			now = edited(t, base, []edit{gone, {beta, here, "  sales"}})
		}
		if report := Compare(old, surfaceOf(documentsOf(t, now)), Options{Now: day}); verdict(report.Findings) != r.want {
			t.Errorf("%s: want %q: %v", r.name, r.want, report.Findings)
		}
	}
}

func documentsOf(t *testing.T, files map[string]string) *model.Model {
	t.Helper()
	m, err := load.Load(write(t, files))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// exported is the surface of the document that is published of the version of the shop.
func exported(t *testing.T, m *model.Model, export func(*model.Model, []string) ([]emit.File, []schema.Error, error)) *Surface {
	t.Helper()
	files, _, err := export(m, []string{"shop.example.com"})
	if err != nil || len(files) != 1 {
		t.Fatal(len(files), err)
	}
	s, err := fileSurface(foreign.Parse("shop.json", files[0].Data))
	if err != nil {
		t.Fatal(err)
	}
	return s
}
