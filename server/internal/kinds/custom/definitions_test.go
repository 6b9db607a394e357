package custom_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// Names belong to the definition that has them until it is deleted.
func TestDefinitionNames(t *testing.T) {
	h := harness.Start(t, nil)
	const accepted = "NamesAccepted=True NoConflicts, Established=True InitialNamesAccepted"
	const group, first, second, third = "shop.example.com", "shoes.shop.example.com", "boots.shop.example.com", "socks.shop.example.com"
	until := func(name, want string) harness.Contents {
		t.Helper()
		return h.Await(harness.DefinitionsPath, func(o harness.Contents) bool { return harness.Conditions(o, name) == want })
	}
	created := h.Create(harness.DefinitionsPath, harness.Custom(group, "shoes", `"kind":"Shoe","shortNames":["sh"],"categories":["all"]`))
	for field, want := range map[string]any{"status.storedVersions": "[v1]", "status.conditions": nil, "spec.names.singular": "shoe", "metadata.generation": 1} {
		if got := created.Field(t, field); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("a new definition has %s %v, want %v", field, got, want)
		}
	}
	have := until(first, accepted)
	const names = "map[categories:[all] kind:Shoe listKind:ShoeList plural:shoes shortNames:[sh] singular:shoe]"
	if got := fmt.Sprint(have.In(first, "status.acceptedNames")); got != names {
		t.Errorf("accepted: %s, want %s", got, names)
	}
	h.Create(harness.DefinitionsPath, harness.Custom(group, "boots", `"kind":"Shoe"`))
	have = until(second, "NamesAccepted=False ListKindConflict, Established=False NotAccepted")
	if got, want := fmt.Sprint(have.In(second, "status.acceptedNames")), "map[kind: plural:boots]"; got != want {
		t.Errorf("accepted in part: %s, want %s", got, want)
	}
	h.Create(harness.DefinitionsPath, harness.Custom(group, "socks", `"kind":"Sock","shortNames":["so","sh"]`))
	until(third, "NamesAccepted=False ShortNamesConflict, Established=False NotAccepted")
	h.Create(harness.DefinitionsPath, harness.Custom("other.example.com", "shoes", `"kind":"Shoe","shortNames":["sh"]`))
	until("shoes.other.example.com", accepted)

	// An established type stays established when it cannot have a further name.
	h.MergePatch(harness.DefinitionsPath+"/shoes.other.example.com", `{"spec":{"names":{"singular":"shoes"}}}`)
	h.MergePatch(harness.DefinitionsPath+"/"+third, `{"spec":{"names":{"shortNames":["so"]}}}`)
	until(third, accepted)
	h.MergePatch(harness.DefinitionsPath+"/"+third, `{"spec":{"names":{"shortNames":["so","sh"]}}}`)
	until(third, "NamesAccepted=False ShortNamesConflict, Established=True InitialNamesAccepted")

	h.Remove(harness.DefinitionsPath+"/"+first, "").Expect(t, http.StatusOK, "")
	h.AwaitGone(harness.DefinitionsPath, first)
	until(second, accepted)
	until(third, accepted)
}

// A deleted definition waits for the server's finalizer, and is removed then.
func TestDefinitionIsDeleted(t *testing.T) {
	h := harness.Start(t, nil)
	const name = "shoes.shop.example.com"
	h.Create(harness.DefinitionsPath, strings.Replace(harness.Custom("shop.example.com", "shoes", `"kind":"Shoe"`), `"metadata":{`, `"metadata":{"finalizers":["example.com/wait"],`, 1))
	h.Await(harness.DefinitionsPath, func(o harness.Contents) bool {
		return strings.Contains(harness.Conditions(o, name), "Established=True")
	})
	h.Remove(harness.DefinitionsPath+"/"+name+"?dryRun=All", "").Expect(t, http.StatusOK, "")
	if got := h.Get(harness.DefinitionsPath+"/"+name).Field(t, "metadata.deletionTimestamp"); got != nil {
		t.Errorf("a dry run deletes: %v", got)
	}
	deleted := h.Remove(harness.DefinitionsPath+"/"+name, "")
	if got, want := fmt.Sprint(deleted.Field(t, "metadata.finalizers")), "[example.com/wait customresourcecleanup.apiextensions.k8s.io]"; got != want {
		t.Errorf("the delete gives the finalizers %s, want %s", got, want)
	}
	have := h.Await(harness.DefinitionsPath, func(o harness.Contents) bool {
		return fmt.Sprint(o.In(name, "metadata.finalizers")) == "[example.com/wait]"
	})
	if got := harness.Conditions(have, name); !strings.HasSuffix(got, "Terminating=False InstanceDeletionCompleted") {
		t.Errorf("the conditions are %s", got)
	}
	h.MergePatch(harness.DefinitionsPath+"/"+name, `{"metadata":{"finalizers":null}}`)
	h.AwaitGone(harness.DefinitionsPath, name)
}

// Groups of the project itself need an approval.
func TestDefinitionApproval(t *testing.T) {
	h := harness.Start(t, nil)
	const name = "shoes.shop.k8s.io"
	body := harness.Custom("shop.k8s.io", "shoes", `"kind":"Shoe"`)
	h.Post(harness.DefinitionsPath, body).Expect(t, http.StatusUnprocessableEntity, "Invalid")
	h.Create(harness.DefinitionsPath, strings.Replace(body, `"metadata":{`, `"metadata":{"annotations":{"api-approved.kubernetes.io":"unapproved, a trial"},`, 1))
	has := func(want string) {
		t.Helper()
		h.Await(harness.DefinitionsPath, func(o harness.Contents) bool {
			return strings.HasSuffix(harness.Conditions(o, name), "KubernetesAPIApprovalPolicyConformant="+want)
		})
	}
	has("False UnapprovedAnnotation")
	h.MergePatch(harness.DefinitionsPath+"/"+name, `{"metadata":{"annotations":{"api-approved.kubernetes.io":"https://example.com/1"}}}`)
	has("True ApprovedAnnotation")
}

// A server ends while definitions are being deleted.
func TestShutdownEndsDeletionOfDefinitions(t *testing.T) {
	for range 5 {
		h := harness.Start(t, nil)
		for n := range 3 {
			plural := fmt.Sprint("shoes", "abc"[n:n+1])
			h.Create(harness.DefinitionsPath, harness.Custom("shop.example.com", plural, fmt.Sprintf(`"kind":"Shoe%c"`, 'a'+n)))
			h.Await(harness.DefinitionsPath, func(o harness.Contents) bool {
				return strings.Contains(harness.Conditions(o, plural+".shop.example.com"), "Established=True")
			})
			h.Remove(harness.DefinitionsPath+"/"+plural+".shop.example.com", "").Expect(t, http.StatusOK, "")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if err := h.Running.Shutdown(ctx); err != nil {
			t.Fatal(err)
		}
		cancel()
	}
}

// Of definitions that come at the same time, one gets a name that all want.
func TestDefinitionNamesAtOnce(t *testing.T) {
	h := harness.Start(t, nil)
	const all = 20
	var running sync.WaitGroup
	for i := range all {
		running.Go(func() {
			h.Post(harness.DefinitionsPath, harness.Custom("shop.example.com", fmt.Sprintf("shoes%d", i), `"kind":"Shoe"`)).Expect(t, http.StatusCreated, "")
		})
	}
	running.Wait()
	h.Await(harness.DefinitionsPath, func(o harness.Contents) bool {
		established, refused := 0, 0
		for i := range all {
			switch harness.Conditions(o, fmt.Sprintf("shoes%d.shop.example.com", i)) {
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
		if h.Get(fmt.Sprintf("/apis/shop.example.com/v1/shoes%d", i)).Code == http.StatusOK {
			served++
		}
	}
	if served != 1 {
		t.Errorf("%d of them are served", served)
	}
}
