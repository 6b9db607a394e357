package compat

import "testing"

// TestActions: an action that goes, does something else, or answers with something else is a break; so is one that
// streams now.
func TestActions(t *testing.T) {
	const api = "openapi/shop/v1.yaml"
	base := map[string]string{
		"go.mod":       "module shop.example.com\n",
		"release.yaml": readBase(t)["release.yaml"],
		api: `openapi: 3.0.3
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
	const refund, sale = "{effect: reads, description: Says what is paid back., answer: Order}", "{effect: writes, description: Sells., answer: Order}"
	for _, r := range []row{
		change("an action has another description", "", api, "Sells.", "Sells it."),
		change("an action goes", "E:resource-removed", api, "  sales:\n    kind: Sale\n    scope: Namespaced\n    action: "+sale+"\n", ""),
		change("an action of an object goes", "E:subresource-removed", api, "      refund: {schema: Refund, action: "+refund+"}\n", "      status: {}\n"),
		change("an action stores what it is posted", "E:endpoint-changed E:resource-unstored W:resource-hook-changed", api, "    action: "+sale+"\n", "    hooks: [validate]\n"),
		change("an action only reads", "E:action-effect-changed", api, "effect: writes", "effect: reads"),
		change("an action streams", "E:action-effect-changed", api, "effect: writes", "effect: streams"),
		change("an action writes", "E:action-writes", api, "effect: reads", "effect: writes"),
		change("an action of an object streams", "E:action-effect-changed", api, "effect: reads", "effect: streams"),
		since("an action streams no more", "E:action-effect-changed", api, "effect: reads", "effect: streams", "effect: reads"),
		change("an action answers with another kind", "E:action-answer-changed", api, "Sells., answer: Order", "Sells., answer: Sale"),
		change("an action of an object answers with another kind", "E:action-answer-changed", api, ", answer: Order}}", "}}"),
		change("a body may be less", "E:bounds-tightened", "schemas/shop/v1/Sale.yaml", "maxLength: 9", "maxLength: 8"),
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
