package serve_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server"
	"github.com/capstan-dev/capstan/server/internal/harness"
)

// causesOf are the causes of a refusal, as "field/reason".
func causesOf(t *testing.T, body []byte) string {
	t.Helper()
	var status struct {
		Details struct {
			Causes []struct{ Field, Reason string }
		}
	}
	if err := json.Unmarshal(body, &status); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, c := range status.Details.Causes {
		all = append(all, c.Field+"/"+strings.TrimPrefix(c.Reason, "FieldValue"))
	}
	return strings.Join(all, " ")
}

const (
	devices     = "/apis/resource.k8s.io/"
	claim       = `{"metadata":{"name":"c"},"spec":{"devices":{"requests":[{"name":"r",`
	selecting   = `{"metadata":{"name":"x"},"spec":{"selectors":[{"cel":{"expression":"`
	slice       = `{"metadata":{"name":"s"},"spec":{"driver":"d.example.com","allNodes":true,"pool":{"name":"p","resourceSliceCount":1},"devices":[`
	ownNodes    = `{"metadata":{"name":"s"},"spec":{"driver":"d.example.com","perDeviceNodeSelection":true,"pool":{"name":"p","resourceSliceCount":1},"devices":[`
	wrongTerm   = `{"matchExpressions":[{"key":"-","operator":"In","values":["-"]}]}`
	templates   = "/namespaces/default/resourceclaimtemplates"
	claims      = "/namespaces/default/resourceclaims"
	candidates  = "/namespaces/default/leasecandidates"
	reviews     = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
	storage     = "/apis/storage.k8s.io/"
	cidrs       = "/apis/networking.k8s.io/v1/servicecidrs"
	bindings    = "/apis/admissionregistration.k8s.io/v1beta1/validatingadmissionpolicybindings"
	endpoints   = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
	six         = `{"metadata":{"name":"s"},"addressType":"IPv6","endpoints":[{"addresses":[`
	attachments = storage + "v1/volumeattachments"
	attachedBy  = `{"metadata":{"name":"a"},"spec":{"attacher":"d","nodeName":"n","source":{"inlineVolumeSpec":{"accessModes":["ReadWriteOnce"],"csi":{"driver":"d","volumeHandle":"h","nodePublishSecretRef":{`
	valued      = `{"metadata":{"name":"b"},"spec":{"minAvailable":1,"selector":{"matchExpressions":[{"key":"a","operator":"In","values":["*"]}]}}}`
	disks       = `{"metadata":{"name":"r"},"spec":{"replicas":2,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}],` +
		`"volumes":[{"name":"v","gcePersistentDisk":{"pdName":"p"}}]}}}}`
)

// releaseRules are requests with the causes of their refusals; "" for a success.
var releaseRules = []struct{ release, name, path, body, causes string }{
	{"1.31", "an address of no kind", endpoints, six + `"1"]}]}`, "endpoints[0].addresses[0]/Invalid endpoints[0].addresses[0]/Invalid"},
	{"1.33", "an address of no kind", endpoints, six + `"1"]}]}`, "endpoints[0].addresses[0]/Invalid"},
	{"1.33", "an address of the other kind", endpoints, six + `"10.1.2.3"]}]}`, "endpoints[0].addresses/Invalid"},
	{"1.31", "a selector", devices + "v1alpha3/deviceclasses?dryRun=All", selecting + `device.attributes[\"a.example.com\"].x == 1"}}]}}`, ""},
	{"1.31", "a selector of another type", devices + "v1alpha3/deviceclasses", selecting + `1 + 1"}}]}}`, "spec.selectors[0].cel.expression/Invalid"},
	{"1.36", "a selector", devices + "v1/deviceclasses?dryRun=All", selecting + `device.capacity[\"a.example.com\"].memory.compareTo(quantity(\"1Gi\")) >= 0"}}]}}`, ""},
	{"1.36", "a selector of shared devices", devices + "v1/deviceclasses?dryRun=All", selecting + `device.allowMultipleAllocations"}}]}}`, ""},
	{"1.36", "a selector that looks into an attribute", devices + "v1/deviceclasses?dryRun=All", selecting + `device.attributes[\"a\"].b.c"}}]}}`,
		"spec.selectors[0].cel.expression/Invalid"},
	{"1.36", "a selector that takes too long", devices + "v1/deviceclasses?dryRun=All",
		selecting + `device.attributes.all(a, device.attributes.all(b, device.attributes.all(c, device.attributes.all(d, device.attributes.all(e, a + b + c + d + e != \"\")))))"}}]}}`,
		"spec.selectors[0].cel.expression/Forbidden"},
	{"1.36", "metadata of a template", devices + "v1" + templates, `{"metadata":{"name":"t"},"spec":{"metadata":{"name":"x","labels":{"-":"v"}},"spec":{"devices":{}}}}`,
		"spec.metadata.labels/Invalid spec.metadata.name/Forbidden"},
	{"1.36", "access of administrators", devices + "v1" + claims, claim + `"exactly":{"deviceClassName":"d.example.com","adminAccess":true}}]}}}`,
		"spec.devices.requests[0].adminAccess/Forbidden"},
	{"1.36", "both forms of a request", devices + "v1" + claims, claim + `"exactly":{},"firstAvailable":[{"name":"-"}]}]}}}`, "spec.devices.requests[0]/Invalid"},
	{"1.36", "the name of a request twice", devices + "v1" + claims, claim + `"exactly":{"deviceClassName":"d"}},{"name":"r","exactly":{"deviceClassName":"d"}}]}}}`,
		"spec.devices.requests[1]/Duplicate"},
	{"1.33", "the name of a request twice", devices + "v1beta1" + claims, claim + `"deviceClassName":"d"},{"name":"r","deviceClassName":"d"}]}}}`,
		"spec.devices.requests[1].name/Duplicate"},
	{"1.36", "an attribute of two types", devices + "v1/resourceslices", slice + `{"name":"a","attributes":{"x":{"int":1,"bool":true}}}]}}`, "spec.devices[0].attributes[x]/Invalid"},
	{"1.31", "an attribute without a value", devices + "v1alpha3/resourceslices", slice + `{"name":"a","basic":{"attributes":{"x":{}}}}]}}`,
		"spec.devices[0].basic.attributes[x]/Required"},
	{"1.36", "a policy of a device that is not shared", devices + "v1/resourceslices", slice + `{"name":"a","capacity":{"m":{"value":"1Gi","requestPolicy":{"validValues":["2"]}}}}]}}`,
		"spec.devices[0].capacity[m].requestPolicy/Forbidden"},
	{"1.36", "a selector of nodes that the slice chooses", devices + "v1/resourceslices", slice + `{"name":"a","nodeSelector":{"nodeSelectorTerms":[` + wrongTerm + `]}}]}}`,
		"spec.devices[0]/Invalid"},
	{"1.36", "a selector of nodes without terms", devices + "v1/resourceslices", slice + `{"name":"a","nodeSelector":{"nodeSelectorTerms":[]}}]}}`, "spec.devices[0]/Invalid"},
	{"1.36", "a selector of nodes that the device chooses", devices + "v1/resourceslices", ownNodes + `{"name":"a","nodeSelector":{"nodeSelectorTerms":[` + wrongTerm + `]}}]}}`,
		"spec.devices[0].nodeSelector.nodeSelectorTerms[0].matchExpressions[0].key/Invalid spec.devices[0].nodeSelector.nodeSelectorTerms[0].matchExpressions[0].values[0]/Invalid"},
	{"1.36", "three choices of nodes", devices + "v1/resourceslices", ownNodes + `{"name":"a","nodeName":"-","allNodes":true,"nodeSelector":{"nodeSelectorTerms":[]}}]}}`,
		"spec.devices[0].nodeName/Invalid spec.devices[0].nodeSelector.nodeSelectorTerms/Required spec.devices[0]/Invalid"},
	{"1.36", "empty choices of nodes", devices + "v1/resourceslices", ownNodes + `{"name":"a","nodeName":"","allNodes":false}]}}`,
		"spec.devices[0].nodeName/Invalid spec.devices[0].allNodes/Invalid spec.devices[0]/Required"},
	{"1.36", "a candidate without a version", "/apis/coordination.k8s.io/v1beta1" + candidates,
		`{"metadata":{"name":"c"},"spec":{"leaseName":"l","strategy":"OldestEmulationVersion","emulationVersion":"a"}}`,
		"spec.emulationVersion/Invalid spec.binaryVersion/Required spec.emulationVersion/Required"},
	{"1.31", "a candidate with a strategy twice", "/apis/coordination.k8s.io/v1alpha1" + candidates,
		`{"metadata":{"name":"c"},"spec":{"leaseName":"l","preferredStrategies":["OldestEmulationVersion","OldestEmulationVersion"],"binaryVersion":"1.31.0"}}`,
		"spec.emulationVersion/Required spec.emulationVersion/Required"},
	{"1.26", "a secret whose name has dots", attachments, attachedBy + `"name":"x.y","namespace":"n"}}}}}}`, "spec.source.inlineVolumeSpec.csi.nodePublishSecretRef.name/Invalid"},
	{"1.27", "a secret whose name has dots", attachments + "?dryRun=All", attachedBy + `"name":"x.y","namespace":"n"}}}}}}`, ""},
	{"1.36", "a review with empty selectors", reviews, `{"spec":{"user":"u","resourceAttributes":{"fieldSelector":{},"labelSelector":{}}}}`,
		"spec.resourceAttributes.fieldSelector.requirements/Required spec.resourceAttributes.labelSelector.requirements/Required"},
	{"1.31", "a review, whose selectors are off", reviews, `{"spec":{"user":"u","resourceAttributes":{"fieldSelector":{}}}}`, ""},
	{"1.36", "ranges of one family", cidrs, `{"metadata":{"name":"r"},"spec":{"cidrs":["10.0.0.1/24","10.1.0.0/24"]}}`, "spec.cidrs[0]/Invalid spec.cidrs/Invalid"},
	{"1.31", "a binding", bindings, `{"metadata":{"name":"b"},"spec":{"policyName":"p","validationActions":["Deny"],"matchResources":{"resourceRules":[{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"]}]}}}`,
		"spec.matchResouces.resourceRules[0].resources/Required"},
	{"1.33", "a binding", strings.Replace(bindings, "v1beta1", "v1", 1), `{"metadata":{"name":"b"},"spec":{"policyName":"p","validationActions":["Deny"],"matchResources":{"resourceRules":[{"operations":["*"],"apiGroups":["*"],"apiVersions":["*"]}]}}}`,
		"spec.matchResources.resourceRules[0].resources/Required"},
	{"1.25", "values that no label has", "/apis/policy/v1/namespaces/default/poddisruptionbudgets?dryRun=All", valued, ""},
	{"1.26", "values that no label has", "/apis/policy/v1/namespaces/default/poddisruptionbudgets", valued, "spec.selector.matchExpressions[0].values[0]/Invalid"},
	{"1.27", "disks of several pods", "/apis/apps/v1/namespaces/default/replicasets", disks, "spec.template.spec.volumes[0].gcePersistentDisk.readOnly/Invalid"},
	{"1.29", "disks of several pods", "/apis/apps/v1/namespaces/default/replicasets?dryRun=All", disks, ""},
	{"1.36", "disks of several pods", "/apis/apps/v1/namespaces/default/replicasets?dryRun=All", disks, ""},
	{"1.36", "an empty autoscaler", "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers", `{"metadata":{"name":"h"}}`, "spec.maxReplicas/Required " +
		"spec.maxReplicas/Invalid spec.scaleTargetRef.kind/Required spec.scaleTargetRef.name/Required spec.scaleTargetRef.apiVersion/Invalid"},
	{"1.36", "an empty pool of a rule", devices + "v1alpha3/devicetaintrules", `{"metadata":{"name":"t"},"spec":{"deviceSelector":{"pool":""},"taint":{"key":"a","effect":"NoSchedule"}}}`,
		"spec.deviceSelector.pool/Required"},
	{"1.36", "a class of runtimes without a handler", "/apis/node.k8s.io/v1/runtimeclasses", `{"metadata":{"name":"r"}}`, "handler/Required"},
	{"1.33", "a class of runtimes without a handler", "/apis/node.k8s.io/v1/runtimeclasses", `{"metadata":{"name":"r"}}`, "handler/Invalid"},
	{"1.36", "an attachment without anything", attachments, `{"metadata":{"name":"a"}}`, "spec.attacher/Required spec.source/Required spec.nodeName/Invalid"},
	{"1.33", "an attachment without anything", attachments, `{"metadata":{"name":"a"}}`,
		"spec.attacher/Required spec.source/Required spec.nodeName/Invalid spec.attacher/Required spec.attacher/Invalid"},
}

// TestReleaseRules: rules that came after 1.25, or changed, are those of the release that is served.
func TestReleaseRules(t *testing.T) {
	servers := map[string]*harness.Server{}
	for _, c := range releaseRules {
		h := servers[c.release]
		if h == nil {
			h = harness.Start(t, func(s *server.Config) {
				emulating(c.release, "api/all=true")(s)
				s.FeatureGates = []string{"AllBeta=true"}
				if c.release == "1.31" {
					s.FeatureGates = []string{"DynamicResourceAllocation=true"}
				}
			})
			servers[c.release] = h
		}
		got := h.Post(c.path, c.body)
		switch {
		case c.causes == "":
			got.Expect(t, http.StatusCreated, "")
		case got.Code != http.StatusUnprocessableEntity || causesOf(t, []byte(got.Body)) != c.causes:
			t.Errorf("%s: %s: %d %s, expected the causes %s", c.release, c.name, got.Code, got.Body, c.causes)
		}
	}
}

// TestReleaseAttributeLists: attributes of devices that are lists have exactly one list, which is not empty.
func TestReleaseAttributeLists(t *testing.T) {
	h := featuring(t, "1.36", "DRAListTypeAttributes=true")
	const at = "spec.devices[0].attributes[x]"
	long := strings.Repeat("1", 61) + ".0.0" // 65 bytes
	for _, test := range []struct{ value, causes string }{
		{`{"bools":[true,false]}`, ""},
		{`{"versions":["1.0.0"]}`, ""},
		{`{"bools":[]}`, at + ".bools/Invalid"},
		{`{"ints":[]}`, at + ".ints/Invalid"},
		{`{"strings":["` + long + `"],"versions":[]}`, at + ".strings[0]/TooLong " + at + ".versions/Invalid " + at + "/Invalid"},
		{`{"bools":[],"ints":[]}`, at + ".bools/Invalid " + at + ".ints/Invalid " + at + "/Invalid"},
		{`{"versions":["1","1.0.0","` + long + `"]}`, at + ".versions[0]/Invalid " + at + ".versions[2]/TooLong"},
		{`{"bools":[true],"ints":[1]}`, at + "/Invalid"},
		{`{}`, at + "/Invalid"},
	} {
		got := h.Post("/apis/resource.k8s.io/v1/resourceslices?dryRun=All", slice+`{"name":"a","attributes":{"x":`+test.value+`}}]}}`)
		if test.causes == "" {
			got.Expect(t, http.StatusCreated, "")
		} else if causes := causesOf(t, []byte(got.Body)); causes != test.causes {
			t.Errorf("%s: %s, expected the causes %s", test.value, got.Body, test.causes)
		}
	}
}

// TestReleaseAnswers: answers are those of the release that is served: versions of deletions, finalizers of classes, times of taints, rights.
func TestReleaseAnswers(t *testing.T) {
	const class = `{"metadata":{"name":"v"},"driverName":"d.example.com","parameters":{"a":"b"}}`
	for release, want := range map[string]struct{ finalizers, taints, later bool }{"1.25": {}, "1.31": {later: true}, "1.36": {true, true, true}} {
		h := harness.Start(t, emulating(release, "api/all=true"))
		h.Post(storage+"v1/csidrivers", `{"metadata":{"name":"d"}}`).Expect(t, http.StatusCreated, "")
		before := h.Get(storage+"v1/csidrivers/d").Field(t, "metadata.resourceVersion")
		if got := h.Remove(storage+"v1/csidrivers/d", ""); (got.Field(t, "metadata.resourceVersion") != before) != want.later {
			t.Errorf("%s: the deletion of a driver at %s says %s", release, before, got.Body)
		}
		if want.later {
			got := h.Post(storage+"v1beta1/volumeattributesclasses", class)
			got.Expect(t, http.StatusCreated, "")
			if (got.Field(t, "metadata.finalizers") != nil) != want.finalizers {
				t.Errorf("%s: a class of attributes is %s", release, got.Body)
			}
		}
		if want.taints {
			got := h.Post(devices+"v1alpha3/devicetaintrules", `{"metadata":{"name":"t"},"spec":{"taint":{"key":"k","effect":"NoSchedule"}}}`)
			if got.Expect(t, http.StatusCreated, ""); got.Field(t, "spec.taint.timeAdded") == nil {
				t.Errorf("%s: a taint is %s", release, got.Body)
			}
		}
		role := h.Get("/apis/rbac.authorization.k8s.io/v1/clusterroles/system:basic-user")
		if strings.Contains(string(role.Body), "selfsubjectreviews") != want.later {
			t.Errorf("%s: the rights of all users are %s", release, role.Body)
		}
	}
}

// TestReleaseGates: a kind behind a feature is not served without it, whatever --runtime-config says.
func TestReleaseGates(t *testing.T) {
	const bundles = "/apis/certificates.k8s.io/v1beta1/clustertrustbundles"
	for gate, code := range map[string]int{"ClusterTrustBundle=false": http.StatusNotFound, "ClusterTrustBundle=true": http.StatusOK} {
		h := harness.Start(t, func(c *server.Config) {
			emulating("1.36", "api/all=true")(c)
			c.FeatureGates = []string{gate}
		})
		h.Get(bundles).Expect(t, code, "")
	}
}

// TestReleaseUnset: the time of a creation that never was is null up to 1.33, and left out from 1.34 on.
func TestReleaseUnset(t *testing.T) {
	const unset = `"creationTimestamp":null`
	for release, null := range map[string]bool{"1.25": true, "1.33": true, "1.34": false} {
		h := harness.Start(t, emulating(release))
		groups := h.Send("GET", "/apis", "", nil, "Accept", "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList")
		if groups.Expect(t, http.StatusOK, ""); strings.Contains(string(groups.Body), unset) != null {
			t.Errorf("%s: the groups are %.200s", release, groups.Body)
		}
		asked := harness.NewMutator(t, func(string, map[string]any) string { return `[]` })
		h.MutateBy(asked, "hook", harness.ReviewRule(`"CREATE"`, "", "v1", "configmaps"), "")
		h.Create(harness.ConfigMaps, `{"metadata":{"name":"c"}}`)
		meta := asked.Requests[0]["object"].(map[string]any)["metadata"].(map[string]any)
		if _, there := meta["creationTimestamp"]; there != null {
			t.Errorf("%s: a webhook sees the metadata %v", release, meta)
		}
	}
}

// TestReleaseOrder: an apply that only sorts a list is a write from 1.29 on.
func TestReleaseOrder(t *testing.T) {
	const path, body = harness.ConfigMaps + "/c", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","finalizers":[%s]}}`
	for release, sorts := range map[string]bool{"1.28": false, "1.29": true} {
		h := harness.Start(t, emulating(release))
		first := h.Send("PATCH", path+"?fieldManager=m", "application/apply-patch+yaml", fmt.Appendf(nil, body, `"x.example.com/a","x.example.com/b"`))
		again := h.Send("PATCH", path+"?fieldManager=m", "application/apply-patch+yaml", fmt.Appendf(nil, body, `"x.example.com/b","x.example.com/a"`))
		again.Expect(t, http.StatusOK, "")
		if before, now := first.Field(t, "metadata.resourceVersion"), again.Field(t, "metadata.resourceVersion"); (before != now) != sorts {
			t.Errorf("%s: %s, then %s", release, first.Body, again.Body)
		}
		if sorted := strings.Contains(string(again.Body), `"finalizers":["x.example.com/b"`); sorted != sorts {
			t.Errorf("%s: %s", release, again.Body)
		}
	}
}

// TestReleaseClaimStatus: the stages and sizes of an expansion are checked where the feature is on.
func TestReleaseClaimStatus(t *testing.T) {
	const claims = "/api/v1/namespaces/default/persistentvolumeclaims"
	for release, on := range map[string]bool{"1.31": false, "1.32": true, "1.36": true} {
		h := harness.Start(t, func(c *server.Config) { c.EmulatedVersion = []string{release} })
		h.Post(claims, `{"metadata":{"name":"c"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`).Expect(t, 201, "")
		for status, want := range map[string]string{
			`{"allocatedResourceStatuses":{"memory":"NodeResizePending"}}`: "status.allocatedResourceStatuses/NotSupported",
			`{"allocatedResourceStatuses":{"storage":"Ready"}}`:            "status.allocatedResourceStatuses/NotSupported",
			`{"allocatedResources":{"example.com/x y":"1"}}`:               "status.allocatedResources/Invalid",
			`{"allocatedResources":{"storage":"-1"}}`:                      "status.allocatedResources[storage]/Invalid",
			`{"allocatedResources":{"storage":"1Gi"}}`:                     "",
		} {
			r := h.Send(http.MethodPatch, claims+"/c/status?dryRun=All", "application/merge-patch+json", []byte(`{"status":`+status+`}`))
			if !on {
				want = ""
			}
			if got := causesOf(t, r.Body); got != want || (r.Code == 200) != (want == "") {
				t.Errorf("%s: %s: %d, %q instead of %q", release, status, r.Code, got, want)
			}
		}
	}
}

// TestReleaseTokens: from 1.34 on a request for a token is answered with the uid of its account, and may name no other.
func TestReleaseTokens(t *testing.T) {
	const accounts = "/api/v1/namespaces/default/serviceaccounts"
	for release, named := range map[string]bool{"1.33": false, "1.34": true} {
		h := harness.Start(t, emulating(release))
		uid := h.Create(accounts, `{"metadata":{"name":"a"}}`).Field(t, "metadata.uid")
		got := h.Post(accounts+"/a/token", `{"spec":{"audiences":["a"]}}`)
		if got.Expect(t, http.StatusCreated, ""); (got.Field(t, "metadata.uid") == uid) != named {
			t.Errorf("%s: the account %v has the token %s", release, uid, got.Body)
		}
		code := map[bool]int{false: http.StatusCreated, true: http.StatusConflict}[named]
		h.Post(accounts+"/a/token", `{"metadata":{"uid":"other"},"spec":{"audiences":["a"]}}`).Expect(t, code, "")
	}
}

// TestReleaseRepeats: from 1.29 on the fields of an object have owners although an element of a list repeats.
func TestReleaseRepeats(t *testing.T) {
	for release, owned := range map[string]bool{"1.28": false, "1.29": true} {
		h := harness.Start(t, emulating(release))
		got := h.Create(harness.ConfigMaps, `{"metadata":{"name":"c","finalizers":["x.example.com/a","x.example.com/a"]}}`)
		if (got.Field(t, "metadata.managedFields") != nil) != owned {
			t.Errorf("%s: %s", release, got.Body)
		}
	}
}
