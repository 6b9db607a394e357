package server_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// custom is a definition; names are the members after plural.
func custom(group, plural, names string) string {
	return fmt.Sprintf(`{"metadata":{"name":"%[2]s.%[1]s"},"spec":{"group":"%[1]s","scope":"Namespaced","names":{"plural":%[2]q,%[3]s},
		"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`, group, plural, names)
}

// conditions are "type=status reason" of an object's conditions.
func conditions(o contents, name string) string {
	list, _ := o.in(name, "status.conditions").([]any)
	var all []string
	for _, c := range list {
		m := c.(map[string]any)
		all = append(all, fmt.Sprint(m["type"], "=", m["status"], " ", m["reason"]))
	}
	return strings.Join(all, ", ")
}

// Names belong to the definition that has them until it is deleted.
func TestDefinitionNames(t *testing.T) {
	h := startServer(t, nil)
	const accepted = "NamesAccepted=True NoConflicts, Established=True InitialNamesAccepted"
	const group, first, second, third = "shop.example.com", "shoes.shop.example.com", "boots.shop.example.com", "socks.shop.example.com"
	until := func(name, want string) contents {
		t.Helper()
		return h.await(definitionsPath, func(o contents) bool { return conditions(o, name) == want })
	}
	created := h.create(definitionsPath, custom(group, "shoes", `"kind":"Shoe","shortNames":["sh"],"categories":["all"]`))
	for field, want := range map[string]any{"status.storedVersions": "[v1]", "status.conditions": nil, "spec.names.singular": "shoe", "metadata.generation": 1} {
		if got := created.field(t, field); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("a new definition has %s %v, want %v", field, got, want)
		}
	}
	have := until(first, accepted)
	const names = "map[categories:[all] kind:Shoe listKind:ShoeList plural:shoes shortNames:[sh] singular:shoe]"
	if got := fmt.Sprint(have.in(first, "status.acceptedNames")); got != names {
		t.Errorf("accepted: %s, want %s", got, names)
	}
	h.create(definitionsPath, custom(group, "boots", `"kind":"Shoe"`))
	have = until(second, "NamesAccepted=False ListKindConflict, Established=False NotAccepted")
	if got, want := fmt.Sprint(have.in(second, "status.acceptedNames")), "map[kind: plural:boots]"; got != want {
		t.Errorf("accepted in part: %s, want %s", got, want)
	}
	h.create(definitionsPath, custom(group, "socks", `"kind":"Sock","shortNames":["so","sh"]`))
	until(third, "NamesAccepted=False ShortNamesConflict, Established=False NotAccepted")
	h.create(definitionsPath, custom("other.example.com", "shoes", `"kind":"Shoe","shortNames":["sh"]`))
	until("shoes.other.example.com", accepted)

	// An established type stays established when it cannot have a further name.
	h.mergePatch(definitionsPath+"/shoes.other.example.com", `{"spec":{"names":{"singular":"shoes"}}}`)
	h.mergePatch(definitionsPath+"/"+third, `{"spec":{"names":{"shortNames":["so"]}}}`)
	until(third, accepted)
	h.mergePatch(definitionsPath+"/"+third, `{"spec":{"names":{"shortNames":["so","sh"]}}}`)
	until(third, "NamesAccepted=False ShortNamesConflict, Established=True InitialNamesAccepted")

	h.remove(definitionsPath+"/"+first, "").expect(t, http.StatusOK, "")
	h.awaitGone(definitionsPath, first)
	until(second, accepted)
	until(third, accepted)
}

// A deleted definition waits for the server's finalizer, and is removed then.
func TestDefinitionIsDeleted(t *testing.T) {
	h := startServer(t, nil)
	const name = "shoes.shop.example.com"
	h.create(definitionsPath, strings.Replace(custom("shop.example.com", "shoes", `"kind":"Shoe"`), `"metadata":{`, `"metadata":{"finalizers":["example.com/wait"],`, 1))
	h.await(definitionsPath, func(o contents) bool { return strings.Contains(conditions(o, name), "Established=True") })
	h.remove(definitionsPath+"/"+name+"?dryRun=All", "").expect(t, http.StatusOK, "")
	if got := h.get(definitionsPath+"/"+name).field(t, "metadata.deletionTimestamp"); got != nil {
		t.Errorf("a dry run deletes: %v", got)
	}
	deleted := h.remove(definitionsPath+"/"+name, "")
	if got, want := fmt.Sprint(deleted.field(t, "metadata.finalizers")), "[example.com/wait customresourcecleanup.apiextensions.k8s.io]"; got != want {
		t.Errorf("the delete gives the finalizers %s, want %s", got, want)
	}
	have := h.await(definitionsPath, func(o contents) bool { return fmt.Sprint(o.in(name, "metadata.finalizers")) == "[example.com/wait]" })
	if got := conditions(have, name); !strings.HasSuffix(got, "Terminating=False InstanceDeletionCompleted") {
		t.Errorf("the conditions are %s", got)
	}
	h.mergePatch(definitionsPath+"/"+name, `{"metadata":{"finalizers":null}}`)
	h.awaitGone(definitionsPath, name)
}

// Groups of the project itself need an approval.
func TestDefinitionApproval(t *testing.T) {
	h := startServer(t, nil)
	const name = "shoes.shop.k8s.io"
	body := custom("shop.k8s.io", "shoes", `"kind":"Shoe"`)
	h.post(definitionsPath, body).expect(t, http.StatusUnprocessableEntity, "Invalid")
	h.create(definitionsPath, strings.Replace(body, `"metadata":{`, `"metadata":{"annotations":{"api-approved.kubernetes.io":"unapproved, a trial"},`, 1))
	has := func(want string) {
		t.Helper()
		h.await(definitionsPath, func(o contents) bool {
			return strings.HasSuffix(conditions(o, name), "KubernetesAPIApprovalPolicyConformant="+want)
		})
	}
	has("False UnapprovedAnnotation")
	h.mergePatch(definitionsPath+"/"+name, `{"metadata":{"annotations":{"api-approved.kubernetes.io":"https://example.com/1"}}}`)
	has("True ApprovedAnnotation")
}

// A server ends while definitions are being deleted.
func TestShutdownEndsDeletionOfDefinitions(t *testing.T) {
	for range 5 {
		h := startServer(t, nil)
		for n := range 3 {
			plural := fmt.Sprint("shoes", "abc"[n:n+1])
			h.create(definitionsPath, custom("shop.example.com", plural, fmt.Sprintf(`"kind":"Shoe%c"`, 'a'+n)))
			h.await(definitionsPath, func(o contents) bool {
				return strings.Contains(conditions(o, plural+".shop.example.com"), "Established=True")
			})
			h.remove(definitionsPath+"/"+plural+".shop.example.com", "").expect(t, http.StatusOK, "")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if err := h.server.Shutdown(ctx); err != nil {
			t.Fatal(err)
		}
		cancel()
	}
}

// Of definitions that come at the same time, one gets a name that all want.
func TestDefinitionNamesAtOnce(t *testing.T) {
	h := startServer(t, nil)
	const all = 20
	var running sync.WaitGroup
	for i := range all {
		running.Go(func() {
			h.post(definitionsPath, custom("shop.example.com", fmt.Sprintf("shoes%d", i), `"kind":"Shoe"`)).expect(t, http.StatusCreated, "")
		})
	}
	running.Wait()
	h.await(definitionsPath, func(o contents) bool {
		established, refused := 0, 0
		for i := range all {
			switch conditions(o, fmt.Sprintf("shoes%d.shop.example.com", i)) {
			case "NamesAccepted=True NoConflicts, Established=True InitialNamesAccepted":
				established++
			case "NamesAccepted=False ListKindConflict, Established=False NotAccepted":
				refused++
			}
		}
		return established == 1 && refused == all-1
	})
	served := 0
	for i := range all {
		if h.get(fmt.Sprintf("/apis/shop.example.com/v1/shoes%d", i)).code == http.StatusOK {
			served++
		}
	}
	if served != 1 {
		t.Errorf("%d of them are served", served)
	}
}
