package policy_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// Causes are reported in the order of 1.25's checks, as often as they find them.
func TestCausesComeInTheOrderOf125(t *testing.T) {
	h := harness.Start(t, nil)
	const (
		core, apps, batch = "/api/v1/namespaces/default/", "/apis/apps/v1/namespaces/default/", "/apis/batch/v1/namespaces/default/"
		invalid, required = " FieldValueInvalid", " FieldValueRequired"
		forbidden         = " FieldValueForbidden"
		container         = `"containers":[{"name":"c","image":"i"}]`
	)
	for _, c := range []struct {
		name, path, body, patch string // a patch is sent to the object of body
		want                    []string
	}{
		{"autoscaler", "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers", `{"metadata":{"name":"a"}}`, "",
			[]string{"spec.maxReplicas" + invalid, "spec.maxReplicas" + invalid, "spec.scaleTargetRef.kind" + required, "spec.scaleTargetRef.name" + required}},
		{"metric of no type", "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
			`{"metadata":{"name":"a"},"spec":{"maxReplicas":1,"scaleTargetRef":{"kind":"k","name":"n"},"metrics":[{"type":"x","resource":{"name":"cpu","target":{"type":"Value"}}}]}}`, "",
			[]string{"spec.metrics[0].type FieldValueNotSupported", "spec.metrics[0].resource.target.averageUtilization" + required, "spec.metrics[0].type FieldValueNotSupported"}},
		{"metric that is moved once it is right", "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
			`{"metadata":{"name":"a"},"spec":{"maxReplicas":1,"scaleTargetRef":{"kind":"k","name":"n"},"metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"averageUtilization":60,"type":"x"}}},{"type":"Pods"}]}}`, "",
			[]string{"spec.metrics[0].resource.target.type" + invalid, "spec.metrics[1].pods" + required}},
		{"event, metadata apart", core + "events", `{"metadata":{"labels":{"a b":""}},"involvedObject":{"namespace":"x"}}`, "",
			[]string{"involvedObject.namespace" + invalid}},
		{"event of the newer group, metadata in between", "/apis/events.k8s.io/v1/namespaces/default/events", `{"metadata":{"labels":{"a b":""}}}`, "",
			[]string{"metadata.name" + required, "metadata.labels" + invalid, "eventTime" + required, "type" + invalid}},
		{"event that has nothing but metadata", core + "events", `{"metadata":{"labels":{"a b":""}}}`, "",
			[]string{"metadata.name" + required, "metadata.labels" + invalid}},
		{"job whose name labels cannot have", batch + "jobs", `{"metadata":{"name":"a b"},"spec":{"template":{"spec":{"restartPolicy":"Never",` + container + `}}}}`, "",
			[]string{"metadata.name" + invalid, "spec.template.labels" + invalid}},
		{"job whose pods have no host names", batch + "jobs",
			`{"metadata":{"name":"%2f"},"spec":{"completionMode":"Indexed","completions":3,"template":{"metadata":{"labels":{"a":"b"}},"spec":{"restartPolicy":"Never",` + container + `}}}}`, "",
			[]string{"metadata.name" + invalid, "metadata.labels" + invalid, "spec.template.labels" + invalid, "metadata.name" + invalid}},
		{"job with a selector of its own", batch + "jobs", `{"metadata":{"name":"a"},"spec":{"parallelism":-1,"selector":{"matchLabels":{"a":"b"}},"template":{"spec":{}}}}`, "",
			[]string{"spec.selector" + invalid, "spec.parallelism" + invalid, "spec.template.spec.containers" + required, "spec.template.spec.restartPolicy" + required, "spec.template.metadata.labels" + invalid}},
		{"webhooks of one name", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", `{"metadata":{"name":"a"},"webhooks":[{"name":"a.b.c"},{"name":"a.b.c"}]}`, "",
			[]string{"webhooks[0].sideEffects" + required, "webhooks[0].clientConfig" + required, "webhooks[0].admissionReviewVersions" + required,
				"webhooks[1].sideEffects" + required, "webhooks[1].clientConfig" + required, "webhooks[1].admissionReviewVersions" + required, "webhooks[1].name FieldValueDuplicate"}},
		{"webhook at no service", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", `{"metadata":{"name":"a"},"webhooks":[{"name":"a.b.c","sideEffects":"None","admissionReviewVersions":["v1"],"clientConfig":{"service":{}}}]}`, "",
			[]string{"webhooks[0].clientConfig.service.name" + required, "webhooks[0].clientConfig.service.namespace" + required}},
		{"ingress of nothing", "/apis/networking.k8s.io/v1/namespaces/default/ingresses", `{"metadata":{"name":"a"},"spec":{"ingressClassName":"a/b"}}`, "",
			[]string{"spec" + invalid, "spec.ingressClassName" + invalid}},
		{"policy of too many types", "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies", `{"metadata":{"name":"a"},"spec":{"policyTypes":["Ingress","Egress","x"]}}`, "",
			[]string{"spec.policyTypes" + invalid}},
		{"subject without anything", "/apis/flowcontrol.apiserver.k8s.io/v1beta2/flowschemas", `{"metadata":{"name":"a"},"spec":{"matchingPrecedence":5,"priorityLevelConfiguration":{"name":"p"},"rules":[{"subjects":[{"kind":"ServiceAccount","serviceAccount":{}}],"nonResourceRules":[{"verbs":["get"],"nonResourceURLs":["/"]}]}]}}`, "",
			[]string{"spec.rules[0].subjects[0].serviceAccount.name" + required, "spec.rules[0].subjects[0].serviceAccount.namespace" + required}},
		{"subject of two kinds too many", "/apis/flowcontrol.apiserver.k8s.io/v1beta2/flowschemas", `{"metadata":{"name":"a"},"spec":{"matchingPrecedence":5,"priorityLevelConfiguration":{"name":"p"},"rules":[{"subjects":[{"kind":"User","user":{"name":"u"},"group":{},"serviceAccount":{}}],"nonResourceRules":[{"verbs":["*"],"nonResourceURLs":["*"]}]}]}}`, "",
			[]string{"spec.rules[0].subjects[0].serviceAccount" + forbidden, "spec.rules[0].subjects[0].group" + forbidden}},
		{"level whose limits do not count", "/apis/flowcontrol.apiserver.k8s.io/v1beta2/prioritylevelconfigurations", `{"metadata":{"name":"a"},"spec":{"type":"Exempt","limited":{"limitResponse":{"type":"x"}}}}`, "",
			[]string{"spec.type" + invalid, "spec.limited" + forbidden}},
		{"claim with a selector", core + "persistentvolumeclaims", `{"metadata":{"name":"a"},"spec":{"accessModes":["x"],"selector":{"matchExpressions":[{"key":"a","operator":"x"}]},"resources":{"requests":{"storage":"1"}}}}`, "",
			[]string{"spec.selector.matchExpressions[0].operator" + invalid, "spec.accessModes FieldValueNotSupported"}},
		{"claim without modes", core + "persistentvolumeclaims", `{"metadata":{"name":"a"},"spec":{"selector":{"matchExpressions":[{"key":"a","operator":"x"}]},"resources":{"requests":{"storage":"1"}}}}`, "",
			[]string{"spec.accessModes" + required, "spec.selector.matchExpressions[0].operator" + invalid}},
		{"containers of no name, one after the other", core + "replicationcontrollers", `{"metadata":{"name":"a"},"spec":{"selector":{"a":"b"},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{},{}]}}}}`, "",
			[]string{"spec.template.spec.containers[0].name" + required, "spec.template.spec.containers[0].image" + required,
				"spec.template.spec.containers[1].name" + required, "spec.template.spec.containers[1].image" + required, "spec.template.spec.containers[1].name FieldValueDuplicate"}},
		{"template that does not go on", apps + "daemonsets", `{"metadata":{"name":"a"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"restartPolicy":"Never","nodeSelector":{"x":"/x"}}}}}`, "",
			[]string{"spec.template.spec.containers" + required, "spec.template.spec.nodeSelector" + invalid, "spec.template.spec.restartPolicy FieldValueNotSupported"}},
		{"indexed job without a name", batch + "jobs", `{"spec":{"completionMode":"Indexed","completions":1,"template":{"spec":{"restartPolicy":"Never",` + container + `}}}}`, "",
			[]string{"metadata.name" + required, "metadata.name" + invalid}},
		{"volume", "/api/v1/persistentvolumes", `{"metadata":{"name":"a"}}`, "",
			[]string{"spec.accessModes" + required, "spec.capacity" + required, "spec.capacity FieldValueNotSupported", "spec" + required}},
		{"volume of a disk at no node", "/api/v1/persistentvolumes", `{"metadata":{"name":"a"},"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"},"local":{}}}`, "",
			[]string{"spec.local.path" + required, "spec.nodeAffinity" + required}},
		{"volume of a disk at nodes of no terms", "/api/v1/persistentvolumes", `{"metadata":{"name":"a"},"spec":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"1Gi"},"local":{},"nodeAffinity":{"required":{"nodeSelectorTerms":[]}}}}`, "",
			[]string{"spec.nodeAffinity.required.nodeSelectorTerms" + required, "spec.local.path" + required}},
		{"limits of pods with defaults", core + "limitranges", `{"metadata":{"name":"a"},"spec":{"limits":[{"type":"Pod","min":{"k":"1"},"default":{"cpu":"1"}}]}}`, "",
			[]string{"spec.limits[0].min[k]" + invalid, "spec.limits[0].min[k]" + invalid, "spec.limits[0].default" + forbidden}},
		{"members of a container, and of which one may be set", core + "pods",
			`{"metadata":{"name":"a"},"spec":{"initContainers":[{"name":"i"}],"containers":[{"name":"c","ports":[{"hostPort":70000}],"lifecycle":{"preStop":{"exec":{},"httpGet":{"port":1}}},"readinessProbe":{}}]}}`, "",
			[]string{"spec.containers[0].image" + required, "spec.containers[0].ports[0].containerPort" + required, "spec.containers[0].ports[0].hostPort" + invalid,
				"spec.containers[0].lifecycle.preStop.exec.command" + required, "spec.containers[0].lifecycle.preStop.httpGet" + forbidden, "spec.containers[0].readinessProbe" + required,
				"spec.initContainers[0].image" + required}},
		{"definition", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
			`{"metadata":{"name":"x.example.com","ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"a"}]},"spec":{"group":"example.com","scope":"Cluster","names":{"kind":"A"},"versions":[{"name":"v1","served":true}]}}`, "",
			[]string{"metadata.name" + invalid, "metadata.ownerReferences.uid" + invalid, "spec.versions[0].schema.openAPIV3Schema" + required, "spec.versions" + invalid,
				"spec.names.plural" + required, "status.storedVersions" + invalid}},
		{"node whose range changes", "/api/v1/nodes", `{"metadata":{"name":"a"},"spec":{"podCIDR":"10.0.0.0/24"}}`, `{"spec":{"podCIDR":"10.1.0.0/24","podCIDRs":["10.1.0.0/24"],"taints":[{"key":"k"}]}}`,
			[]string{"metadata.taints[0].effect" + required, "spec.podCIDRs" + forbidden, "metadata.taints[0].effect" + required}},
		{"path of an empty type", "/apis/networking.k8s.io/v1/namespaces/default/ingresses", `{"metadata":{"name":"a"},"spec":{"rules":[{"http":{"paths":[{"path":"/","pathType":"","backend":{}},{"path":"/","backend":{}}]}}]}}`, "",
			[]string{"spec.rules[0].http.paths[0].pathType FieldValueNotSupported", "spec.rules[0].http.paths[0].backend" + invalid, "spec.rules[0].http.paths[1].pathType" + required}},
		{"secret without the data of its type", core + "secrets", `{"metadata":{"name":"a"},"type":"kubernetes.io/tls","data":{"a b":""}}`, "",
			[]string{"data[a b]" + invalid, "data[tls.crt]" + required, "data[tls.key]" + required}},
		{"an integer for a share", apps + "daemonsets", `{"metadata":{"name":"a"},"spec":{"selector":{"matchLabels":{"a":"b"}},"updateStrategy":{"rollingUpdate":{"maxUnavailable":"10"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{` + container + `}}}}`, "",
			[]string{"spec.updateStrategy.rollingUpdate.maxUnavailable" + invalid}},
		{"what an immutable secret may not", core + "secrets", `{"metadata":{"name":"a"},"immutable":true,"data":{"a":""}}`,
			`{"type":"b","immutable":null,"data":{"a b":""}}`,
			[]string{"type" + invalid, "immutable" + forbidden, "data" + forbidden, "data[a b]" + invalid}},
		{"what a job may not", batch + "jobs", `{"metadata":{"name":"a"},"spec":{"completions":1,"template":{"spec":{"restartPolicy":"Never",` + container + `}}}}`,
			`{"spec":{"completionMode":"Indexed","template":{"spec":{"nodeName":"n"}}}}`,
			[]string{"spec.template" + invalid, "spec.completionMode" + invalid}},
		{"deployment", apps + "deployments", `{"metadata":{"name":"a"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{` + container + `}}}}`,
			`{"spec":{"selector":{"matchLabels":{"a":"c"}}}}`,
			[]string{"spec.template.metadata.labels" + invalid, "spec.selector" + invalid}},
		{"deployment without a selector that could be asked", apps + "deployments", `{"metadata":{"name":"a"},"spec":{"selector":{"matchExpressions":[{"key":"a"}]},"template":{"spec":{"containers":[{}]}},"minReadySeconds":-1}}`, "",
			[]string{"spec.selector.matchExpressions[0].operator" + invalid, "spec.selector" + invalid, "spec.minReadySeconds" + invalid}},
		{"replica set likewise", apps + "replicasets", `{"metadata":{"name":"a"},"spec":{"selector":{"matchExpressions":[{"key":"a"}]},"template":{"spec":{}}}}`, "",
			[]string{"spec.selector.matchExpressions[0].operator" + invalid, "spec.selector" + invalid}},
		{"labels of a template", apps + "deployments", `{"metadata":{"name":"a"},"spec":{"template":{"metadata":{"labels":{"a":"x-"}}}}}`, "",
			[]string{"spec.selector" + required, "spec.template.metadata.labels" + invalid, "spec.template.labels" + invalid, "spec.template.spec.containers" + required}},
		{"ports in the host's network", core + "pods", `{"metadata":{"name":"a"},"spec":{"hostNetwork":true,"containers":[{"name":"c","image":"i","ports":[{"containerPort":1,"hostPort":2}],"resources":{"requests":{"storage":"1"}}}],"activeDeadlineSeconds":-1}}`, "",
			[]string{"spec.containers[0].resources.requests[storage]" + invalid, "spec.containers[0].ports[0].containerPort" + invalid, "spec.activeDeadlineSeconds" + invalid}},
		{"attachment", "/apis/storage.k8s.io/v1/volumeattachments", `{"metadata":{"name":"a"}}`, "",
			[]string{"spec.attacher" + required, "spec.source" + required, "spec.nodeName" + invalid, "spec.attacher" + required, "spec.attacher" + invalid}},
		{"toleration with a wrong effect", harness.PodsPath, `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}],"tolerations":[{"operator":"x","effect":"y","tolerationSeconds":5}]}}`, "",
			[]string{"spec.tolerations[0].operator" + invalid, "spec.tolerations[0].effect" + invalid, "spec.tolerations[0].operator FieldValueNotSupported", "spec.tolerations[0].effect FieldValueNotSupported"}},
		{"toleration with nothing but a wrong effect", harness.PodsPath, `{"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}],"tolerations":[{"effect":"a/b","tolerationSeconds":5}]}}`, "",
			[]string{"spec.tolerations[0].operator" + invalid, "spec.tolerations[0].effect" + invalid, "spec.tolerations[0].effect FieldValueNotSupported"}},
		{"toleration with a wrong operator", "/apis/node.k8s.io/v1/runtimeclasses", `{"metadata":{"name":"a"},"handler":"h","scheduling":{"tolerations":[{"operator":"x"}]}}`, "",
			[]string{"scheduling.tolerations.tolerations[0].operator" + invalid, "scheduling.tolerations.tolerations[0].operator FieldValueNotSupported"}},
		{"budget, metadata apart", "/apis/policy/v1/namespaces/default/poddisruptionbudgets", `{"metadata":{"finalizers":["a/b/c"]},"spec":{"maxUnavailable":"30%","minAvailable":1}}`, "",
			[]string{"spec" + invalid}},
		{"budget with wrong metadata", "/apis/policy/v1/namespaces/default/poddisruptionbudgets", `{"metadata":{"labels":{"a b":""}},"spec":{"minAvailable":1}}`, "",
			[]string{"metadata.name" + required, "metadata.labels" + invalid}},
		{"schema with an unknown type", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", `{"metadata":{"name":"widgets.shop.example.com"},"spec":{"group":"shop.example.com","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"a":{"type":"*","enum":["x"],"default":3}}}}}]}}`, "",
			[]string{"spec.validation.openAPIV3Schema.properties[a].default FieldValueTypeInvalid", "spec.validation.openAPIV3Schema.properties[a].default FieldValueNotSupported", "spec.validation.openAPIV3Schema.properties[a].type FieldValueNotSupported"}},
		{"webhook for all operations and one that is none", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", `{"metadata":{"name":"a"},"webhooks":[{"name":"a.example.com","admissionReviewVersions":["v1"],"sideEffects":"None","clientConfig":{"url":"https://127.0.0.1:1/x"},"rules":[{"operations":["*","a"],"apiVersions":["*"],"resources":["*"]}]}]}`, "",
			[]string{"webhooks[0].rules[0].operations" + invalid, "webhooks[0].rules[0].operations[1] FieldValueNotSupported", "webhooks[0].rules[0].apiGroups" + required}},
		{"lifetime of a projected token, with its volume", core + "pods", `{"metadata":{"name":"a"},"spec":{"volumes":[{"projected":{"sources":[{"serviceAccountToken":{"expirationSeconds":-1}}]}}]}}`, "",
			[]string{"spec.volumes[0].projected.sources[0].serviceAccountToken.expirationSeconds" + invalid, "spec.volumes[0].projected.path" + required, "spec.volumes[0].name" + required, "spec.containers" + required,
				"spec.volumes[0].projected.sources[0].serviceAccountToken" + forbidden}},
		{"mount without a name", core + "pods", `{"metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i","volumeMounts":[{}]}]}}`, "",
			[]string{"spec.containers[0].volumeMounts[0].name" + required, "spec.containers[0].volumeMounts[0].name FieldValueNotFound", "spec.containers[0].volumeMounts[0].mountPath" + required}},
		{"affinity that no attachment may have", "/apis/storage.k8s.io/v1/volumeattachments",
			`{"metadata":{"name":"a"},"spec":{"attacher":"a","nodeName":"n","source":{"inlineVolumeSpec":{"accessModes":["ReadWriteOnce"],"csi":{"driver":"d","volumeHandle":"h"},"nodeAffinity":{"required":{"nodeSelectorTerms":[{"matchFields":[{}]}]}}}}}}`, "",
			[]string{"spec.source.inlineVolumeSpec.nodeAffinity" + forbidden}},
		{"attachment of a volume that is none", "/apis/storage.k8s.io/v1/volumeattachments", `{"metadata":{"name":"a"},"spec":{"attacher":"a","nodeName":"n","source":{"inlineVolumeSpec":{}}}}`, "",
			[]string{"spec.source.inlineVolumeSpec.csi" + required, "spec.source.inlineVolumeSpec.accessModes" + required, "spec.source.inlineVolumeSpec" + required}},
		{"attachment, changed", "/apis/storage.k8s.io/v1/volumeattachments", `{"metadata":{"name":"a"},"spec":{"attacher":"a.b","nodeName":"n","source":{"persistentVolumeName":"v"}}}`, `{"spec":null}`,
			[]string{"spec.attacher" + required, "spec.source" + required, "spec.nodeName" + invalid, "spec.attacher" + required, "spec.source" + required, "spec.nodeName" + invalid, "spec" + invalid}},
		{"tokens of a driver, checked once more", "/apis/storage.k8s.io/v1/csidrivers", `{"metadata":{"name":"a"}}`,
			`{"spec":{"tokenRequests":[{"audience":"a","expirationSeconds":7},{"audience":"a","expirationSeconds":7}],"volumeLifecycleModes":["x"]}}`,
			[]string{"spec.tokenRequests[0].expirationSeconds" + invalid, "spec.tokenRequests[1].audience FieldValueDuplicate", "spec.volumeLifecycleModes FieldValueNotSupported",
				"spec.volumeLifecycleModes" + invalid, "spec.tokenRequests[0].expirationSeconds" + invalid, "spec.tokenRequests[1].audience FieldValueDuplicate"}},
		{"class of ingresses, around its metadata", "/apis/networking.k8s.io/v1/ingressclasses", `{"metadata":{"name":"a"},"spec":{"controller":"example.com/a"}}`,
			`{"metadata":{"labels":{"a b":""}},"spec":{"controller":"example.com/b"}}`,
			[]string{"metadata.labels" + invalid, "metadata.labels" + invalid, "metadata.labels" + invalid, "spec.controller" + invalid, "metadata.labels" + invalid}},
		{"event whose end is set", core + "events", `{"metadata":{"name":"a"},"involvedObject":{"namespace":"default"}}`, `{"metadata":{"deletionGracePeriodSeconds":5}}`,
			[]string{"metadata.deletionGracePeriodSeconds" + invalid}},
		{"pod", core + "pods", `{"metadata":{"name":"a"},"spec":{` + container + `}}`,
			`{"spec":{"containers":[{"name":"C","image":"i"},{"name":"d","image":"i"}],"dnsPolicy":"x"}}`,
			[]string{"spec.containers[0].name" + invalid, "spec.dnsPolicy FieldValueNotSupported", "spec.containers" + forbidden}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := h.Post(c.path, c.body)
			if c.patch != "" {
				r.Expect(t, http.StatusCreated, "")
				r = h.Send(http.MethodPatch, c.path+"/a", "application/merge-patch+json", []byte(c.patch))
				h.Send(http.MethodDelete, c.path+"/a?gracePeriodSeconds=0", "", nil).Expect(t, http.StatusOK, "")
			}
			r.Expect(t, http.StatusUnprocessableEntity, "Invalid")
			var got []string
			for _, cause := range r.Field(t, "details.causes").([]any) {
				m := cause.(map[string]any)
				got = append(got, m["field"].(string)+" "+m["reason"].(string))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("causes\n%q, want\n%q", got, c.want)
			}
		})
	}
}
