package load

import (
	"fmt"
	"strings"
	"testing"
)

// TestActionDocuments: what an action lacks, or has too much, is said with its line and a remedy.
func TestActionDocuments(t *testing.T) {
	load := func(subresource string) string { return loadOrders(t, "subresources:\n      "+subresource) }
	const at = "openapi/shop/v1.yaml:10: "
	for subresource, want := range map[string]string{
		"refund: {schema: OrderRefund, action: {effect: writes, description: Pays back., answer: Order}}":                                                                                     "create OrderRefund Order",
		"refund: {schema: /shop/v1/OrderRefund, action: {effect: reads, description: Pays back.}}":                                                                                            "create OrderRefund OrderRefund",
		"refund: {schema: OrderRefund, action: {effect: streams, description: Pays back.}}":                                                                                                   "create OrderRefund OrderRefund",
		"refund: {schema: OrderRefund, verbs: [get], action: {effect: streams, description: Shows it.}}":                                                                                      "get OrderRefund OrderRefund",
		"refund: {schema: OrderRefund, verbs: [get], action: {effect: reads, description: Shows it.}}":                                                                                        "get OrderRefund OrderRefund",
		"refund: {action: {effect: writes, description: Pays back.}}":                                                                                                                         at + "the action refund of orders does not say the kind of its body; add schema: OrderRefund and the document of that kind",
		"refund: {schema: OrderRefund, verbs: [get], action: {effect: writes, description: Pays.}}":                                                                                           at + "the action refund of orders writes, and is called by a GET; write effect: reads, or verbs: [create]",
		"refund: {schema: OrderRefund, verbs: [patch], action: {effect: writes, description: Pays.}}":                                                                                         at + "the action refund of orders has the verbs patch; write verbs: [create], or verbs: [get]",
		"scale: {schema: OrderRefund, action: {effect: writes, description: Pays.}}":                                                                                                          at + "the subresource scale of orders has an action, and is one that the server answers; drop one of them, or give the action another name",
		"refund: {schema: /core/v1/Pod, action: {effect: writes, description: Pays.}}":                                                                                                        at + "the action refund of orders has the kind core/v1.Pod, which is of another version; write a kind of shop/v1",
		"refund: {schema: OrderRefund, action: {effect: writes, description: Pays., answer: Money}}":                                                                                          at + "no schema document for /shop/v1/Money; write schemas/shop/v1/Money.yaml",
		"refund: {schema: OrderRefund, action: {effect: changes, description: Pays.}}":                                                                                                        at,
		"refund: {schema: OrderRefund, action: {effect: writes}}":                                                                                                                             at,
		"refund: {schema: OrderRefund, action: {effect: reads, description: Pays., errors: [{reason: Invalid, description: It is too much.}, {reason: Conflict, description: It is paid.}]}}": "create OrderRefund OrderRefund 409 Conflict 422 Invalid",
		"refund: {schema: OrderRefund, action: {effect: reads, description: Pays., errors: [{reason: Conflict, description: A}, {reason: Conflict, description: B}]}}":                        at + "the action has the error Conflict twice; describe all its cases in one",
		"refund: {schema: OrderRefund, action: {effect: reads, description: Pays., errors: [{reason: Paid, description: A}]}}":                                                                at + `unknown reason "Paid"; write one of BadRequest, Forbidden`,
		"refund: {schema: OrderRefund, action: {effect: reads, description: Pays., errors: [{reason: Conflict}]}}":                                                                            at,
		"refund: {schema: OrderRefund, action: {effect: reads, description: Pays., errors: []}}":                                                                                              at + "errors is empty; name the errors of the action, or remove errors",
		"refund: {schema: OrderRefund, action: {effect: writes, description: Pays., verb: pay-2}}":                                                                                            "create OrderRefund OrderRefund pay-2",
		"refund: {schema: OrderRefund, action: {effect: writes, description: Pays., verb: create}}":                                                                                           "create OrderRefund OrderRefund",
		"refund: {schema: OrderRefund, verbs: [get], action: {effect: reads, description: Pays., verb: look}}":                                                                                "get OrderRefund OrderRefund look",
		"refund: {schema: OrderRefund, action: {effect: writes, description: Pays., verb: Pay}}":                                                                                              at + `"Pay" is not a verb of a right; write a word of small letters`,
		"refund: {schema: OrderRefund, action: {effect: writes, description: Pays., verb: '*'}}":                                                                                              at + `"*" is not a verb of a right; write a word of small letters`,
		"refund: {schema: OrderRefund, action: {effect: writes, description: Pays., verb: get}}":                                                                                              at + "the action refund of orders writes, and its verb get is that of users who may only read; write another verb, or drop it",
		"refund: {endpoint: action, schema: OrderRefund}":                                                                                                                                     at,
	} {
		if got := load(subresource); !strings.HasPrefix(got, want) {
			t.Errorf("%s\n got %s\nwant %s", subresource, got, want)
		}
	}
}

// loadOrders loads a module with orders that have a key, and returns its action in short, or its mistakes.
func loadOrders(t *testing.T, key string) string {
	t.Helper()
	root := t.TempDir()
	writeFiles(t, root, map[string]string{
		"go.mod": "module shop.example.com\n",
		"openapi/shop/v1.yaml": "openapi: 3.0.3\ninfo: {title: shop, version: v1}\npaths: {}\nx-cluster-group: {name: shop.example.com, groupPriority: 100, versionPriority: 10}\n" +
			"x-cluster-resources:\n  orders:\n    kind: Order\n    scope: Namespaced\n    " + key + "\n",
		"schemas/shop/v1/Order.yaml":       "description: What somebody buys.\nproperties:\n  metadata: {}\n",
		"schemas/shop/v1/OrderRefund.yaml": "description: Asks for money.\nproperties:\n  metadata: {}\n",
	})
	m, err := Load(root)
	if err != nil {
		return err.Error()
	}
	for _, gv := range m.GroupVersions {
		for _, r := range gv.Resources {
			if r.Action != nil {
				return strings.TrimSpace(strings.Join(r.Verbs, ",") + " " + r.Type.Name + " " + r.Action.Answer.Name + " " + r.DeprecatedSince)
			}
			for _, s := range r.Subresources {
				if s.Action != nil {
					short := strings.TrimSpace(strings.Join(s.Verbs, ",") + " " + s.Type.Name + " " + s.Action.Answer.Name + " " + s.Action.Verb)
					for _, e := range s.Action.Errors {
						short += fmt.Sprint(" ", e.Reason.Refuses(), " ", e.Reason)
					}
					return short
				}
			}
		}
	}
	return "no action"
}

// TestOperationDocuments does so for actions that are not of an object.
func TestOperationDocuments(t *testing.T) {
	const at, sells = "openapi/shop/v1.yaml:9: ", "action: {effect: writes, description: Sells., answer: OrderRefund}"
	for key, want := range map[string]string{
		sells: "create Order OrderRefund",
		"action: {effect: streams, description: Sells.}":                                                           "create Order Order",
		sells + "\n    verbs: [create]":                                                                            "create Order OrderRefund",
		sells + "\n    verbs: [create, get]":                                                                       at + "orders have an action, and the verbs create, get; drop verbs, since the action is what a create does",
		sells + "\n    storage: true":                                                                              at + "orders have an action, and storage for objects; drop one of them, or write the action below subresources",
		sells + "\n    endpoint: review-access":                                                                    at + "orders have an action and an endpoint; drop one of them",
		sells + "\n    hooks: [validate]":                                                                          at + "orders have an action and hooks, which only stored objects have; drop hooks",
		sells + "\n    subresources: {status: {}}":                                                                 at + "orders have an action and subresources, which only stored objects have; drop subresources",
		sells + "\n    selectable: [spec.x]":                                                                       at + "orders have an action and selectable, which only stored objects have; drop selectable",
		"action: {effect: writes, description: Sells., answer: Money}":                                             at + "no schema document for /shop/v1/Money; write schemas/shop/v1/Money.yaml",
		"action: {effect: writes, description: Sells., answer: /core/v1/Pod}":                                      at + "the action orders has the kind core/v1.Pod, which is of another version; write a kind of shop/v1",
		"action: {effect: streams, description: Sells., deprecated: {since: '1.2'}}":                               "create Order Order 1.2",
		"action: {effect: streams, description: Sells.}\n    deprecated: {since: '1.2'}":                           "create Order Order 1.2",
		"action: {effect: streams, description: Sells., deprecated: {since: '1.2'}}\n    deprecated: {since: '1'}": at + "orders are deprecated, and so is their action; drop one of them",
		"action: {effect: sells, description: Sells.}":                                                             at,
		"action: {effect: writes}":                                                                                 at,
		"endpoint: action":                                                                                         "openapi/shop/v1.yaml:",
		"subresources:\n      x: {endpoint: review-access, schema: OrderRefund}":                                   "openapi/shop/v1.yaml:10: ",
	} {
		if got := loadOrders(t, key); !strings.HasPrefix(got, want) {
			t.Errorf("%s\n got %s\nwant %s", key, got, want)
		}
	}
}
