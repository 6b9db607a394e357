package load

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestActionDocuments: what an action lacks, or has too much, is said with its line and a remedy.
func TestActionDocuments(t *testing.T) {
	load := func(subresource string) string {
		t.Helper()
		root := t.TempDir()
		for file, text := range map[string]string{
			"go.mod": "module shop.example.com\n",
			"openapi/shop/v1.yaml": "openapi: 3.0.3\ninfo: {title: shop, version: v1}\npaths: {}\nx-cluster-group: {name: shop.example.com, groupPriority: 100, versionPriority: 10}\n" +
				"x-cluster-resources:\n  orders:\n    kind: Order\n    scope: Namespaced\n    subresources:\n      " + subresource + "\n",
			"schemas/shop/v1/Order.yaml":       "description: What somebody buys.\nproperties:\n  metadata: {}\n",
			"schemas/shop/v1/OrderRefund.yaml": "description: Asks for money.\nproperties:\n  metadata: {}\n",
		} {
			path := filepath.Join(root, filepath.FromSlash(file))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		m, err := Load(root)
		if err != nil {
			return err.Error()
		}
		for _, gv := range m.GroupVersions {
			for _, r := range gv.Resources {
				for _, s := range r.Subresources {
					if s.Action != nil {
						return strings.Join(s.Verbs, ",") + " " + s.Type.Name + " " + s.Action.Answer.Name
					}
				}
			}
		}
		return "no action"
	}
	const at = "openapi/shop/v1.yaml:10: "
	for subresource, want := range map[string]string{
		"refund: {schema: OrderRefund, action: {effect: writes, description: Pays back., answer: Order}}": "create OrderRefund Order",
		"refund: {schema: /shop/v1/OrderRefund, action: {effect: reads, description: Pays back.}}":        "create OrderRefund OrderRefund",
		"refund: {schema: OrderRefund, verbs: [get], action: {effect: reads, description: Shows it.}}":    "get OrderRefund OrderRefund",
		"refund: {action: {effect: writes, description: Pays back.}}":                                     at + "the action refund of orders does not say the kind of its body; add schema: OrderRefund and the document of that kind",
		"refund: {schema: OrderRefund, verbs: [get], action: {effect: writes, description: Pays.}}":       at + "the action refund of orders writes, and is called by a GET; write effect: reads, or verbs: [create]",
		"refund: {schema: OrderRefund, verbs: [patch], action: {effect: writes, description: Pays.}}":     at + "the action refund of orders has the verbs patch; write verbs: [create], or verbs: [get]",
		"scale: {schema: OrderRefund, action: {effect: writes, description: Pays.}}":                      at + "the subresource scale of orders has an action, and is one that the server answers; drop one of them, or give the action another name",
		"refund: {schema: /core/v1/Pod, action: {effect: writes, description: Pays.}}":                    at + "the action refund of orders has the kind core/v1.Pod, which is of another version; write a kind of shop/v1",
		"refund: {schema: OrderRefund, action: {effect: writes, description: Pays., answer: Money}}":      at + "no schema document for /shop/v1/Money; write schemas/shop/v1/Money.yaml",
		"refund: {schema: OrderRefund, action: {effect: changes, description: Pays.}}":                    at,
		"refund: {schema: OrderRefund, action: {effect: writes}}":                                         at,
		"refund: {endpoint: action, schema: OrderRefund}":                                                 at,
	} {
		if got := load(subresource); !strings.HasPrefix(got, want) {
			t.Errorf("%s\n got %s\nwant %s", subresource, got, want)
		}
	}
}
