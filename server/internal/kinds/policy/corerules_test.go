package policy_test

import (
	"strings"
	"testing"

	"github.com/capstan-dev/capstan/server/internal/harness"
)

// TestRulesOfCoreKinds: answers of 1.25 that need several layers together.
func TestRulesOfCoreKinds(t *testing.T) {
	h := harness.Start(t, nil)
	const ns = "/api/v1/namespaces/default"
	const owner = `{"apiVersion":"v1","kind":"Node","name":"n","uid":"u"}`
	const claim = `"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1"}}`
	service := func(spec string) string {
		return `{"metadata":{"name":"s"},"spec":{"ports":[{"port":80}],` + spec + `}}`
	}
	h.Run(t, []harness.Step{
		{"repeated owners", "POST", ns + "/configmaps", "", `{"metadata":{"name":"a","ownerReferences":[` + owner + `,` + owner + `]}}`, 201, `"ownerReferences":[` + owner + `]`},
		{"repeated in a patch", "PATCH", ns + "/configmaps/a?dryRun=All", harness.MergePatchMedia, `{"metadata":{"ownerReferences":[` + owner + `,` + owner + `]}}`, 200, `"ownerReferences":[` + owner + `]}`},
		{"no owner", "POST", ns + "/configmaps", "", `{"metadata":{"name":"b","ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n"}]}}`, 422, `"field":"metadata.ownerReferences.uid"`},
		{"finalizer", "POST", ns + "/configmaps", "", `{"metadata":{"name":"b","finalizers":["a.b/c","x"]}}`, 422, `"field":"metadata.finalizers[1]"`},
		{"deletion is not the client's", "PUT", ns + "/configmaps/a", "", `{"metadata":{"name":"a","deletionTimestamp":"2020-01-01T00:00:00Z"}}`, 422, `"field":"metadata.deletionTimestamp"`},
		{"name to generate from", "PUT", ns + "/configmaps/a", "", `{"metadata":{"name":"a","generateName":"x"}}`, 200, `"generateName":"x"`},
		{"wrong name to generate from", "PUT", ns + "/configmaps/a", "", `{"metadata":{"name":"a","generateName":"x/"}}`, 422, `"field":"metadata.generateName"`},

		{"wrong data under a generated name", "POST", ns + "/configmaps", "", `{"metadata":{"generateName":"made-"},"data":{"!":""}}`, 422, `"details":{"name":"made-`},
		{"limits without a name", "POST", ns + "/limitranges", "", `{"spec":{"limits":[]}}`, 201, `"name":"`},
		{"namespace", "POST", "/api/v1/namespaces", "", `{"metadata":{"name":"n"}}`, 201, ""},
		{"phase", "PUT", "/api/v1/namespaces/n/status", "", `{"metadata":{"name":"n"},"status":{"phase":"Terminating"}}`, 422, `"field":"status.Phase"`},
		{"finalize", "PUT", "/api/v1/namespaces/n/finalize", "", `{"metadata":{"name":"n"},"spec":{"finalizers":["x"]}}`, 422, `"field":"spec.finalizers[0]"`},

		{"load balancer", "POST", ns + "/services", "", service(`"type":"LoadBalancer"`), 201, ""},
		{"its address", "PATCH", ns + "/services/s/status", harness.MergePatchMedia, `{"status":{"loadBalancer":{"ingress":[{"ip":"x"}]}}}`, 422, `"field":"status.loadBalancer.ingress[0].ip"}]`},
		{"right", "PATCH", ns + "/services/s/status", harness.MergePatchMedia, `{"status":{"loadBalancer":{"ingress":[{"ip":"1.2.3.4"}]}}}`, 200, "1.2.3.4"},
		{"is none any more", "PATCH", ns + "/services/s", harness.MergePatchMedia, `{"spec":{"type":"ClusterIP"}}`, 200, `"status":{"loadBalancer":{}}`},
		{"another name has no policy", "POST", ns + "/services", "", `{"metadata":{"name":"e"},"spec":{"type":"ExternalName","externalName":"a.b","internalTrafficPolicy":"Local"}}`, 201, `"spec":{"type":"ExternalName","sessionAffinity":"None","externalName":"a.b"}`},

		{"a wrong service that is gone", "PUT", ns + "/services/g", "", `{"metadata":{"name":"g","resourceVersion":"1"},"spec":{}}`, 422, `"field":"spec.ports"`},
		{"a service that is gone", "PUT", ns + "/services/g", "", strings.Replace(service(`"type":"ClusterIP"`), `"name":"s"`, `"name":"g","resourceVersion":"1"`, 1), 404, `services \"g\"`},
		{"the wrong status of none", "PATCH", ns + "/services/g/status?fieldManager=a", harness.ApplyMedia, `{"apiVersion":"v1","kind":"Service","metadata":{"name":"g"}}`, 422, `"field":"spec.ports"`},
		{"the status of none, half told", "PUT", ns + "/services/g/status", "", strings.Replace(service(`"clusterIP":"None"`), `"name":"s"`, `"name":"g"`, 1), 422, `"field":"spec.clusterIPs"`},
		{"the status of none", "PUT", ns + "/services/g/status", "", strings.Replace(service(`"type":"ClusterIP"`), `"name":"s"`, `"name":"g"`, 1), 404, `services \"g\"`},
		{"budget", "POST", harness.BudgetPath, "", `{"metadata":{"name":"b"},"spec":{"minAvailable":1}}`, 201, ""},
		{"less than none", "PATCH", harness.BudgetPath + "/b/status", harness.MergePatchMedia, `{"status":{"disruptionsAllowed":-1}}`, 422, `"field":"status.disruptionsAllowed"`},
		{"attachment", "POST", "/apis/storage.k8s.io/v1/volumeattachments", "", `{"metadata":{"name":"v"},"spec":{"attacher":"a","nodeName":"n","source":{"inlineVolumeSpec":{"accessModes":["ReadWriteOnce"],"csi":{"driver":"d","volumeHandle":"h","nodeExpandSecretRef":{}}}}}}`,
			422, `"field":"spec.source.inlineVolumeSpec.csi.nodeExpandSecretRef.name"`},

		{"a zone without a name", "POST", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", "", `{"metadata":{"name":"z"},"addressType":"IPv4","endpoints":[{"addresses":["10.1.2.3"],"hints":{"forZones":[{}]}}]}`, 201, `"forZones":[{"name":""}]`},
		{"a host without a name", "POST", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", "", `{"metadata":{"name":"y"},"addressType":"FQDN","endpoints":[{"addresses":[""]}]}`, 422, `"reason":"FieldValueRequired"`},
		{"a budget of any name", "POST", harness.BudgetPath, "", `{"metadata":{"name":"A","finalizers":["x"]},"spec":{"minAvailable":1}}`, 201, ""},
		{"a lease that is gone already", "PUT", "/apis/coordination.k8s.io/v1/namespaces/default/leases/l", "", `{"metadata":{"name":"l","deletionTimestamp":"2020-01-01T00:00:00Z"}}`, 201, `"deletionTimestamp":"2020-01-01T00:00:00Z"`},
		{"a revision of anything", "POST", "/apis/apps/v1/namespaces/default/controllerrevisions", "", `{"metadata":{"name":"r"},"data":[]}`, 201, `"data":[]`},
		{"a revision of nothing", "POST", "/apis/apps/v1/namespaces/default/controllerrevisions", "", `{"metadata":{"name":"s"},"data":null}`, 422, `"field":"data"`},
		{"a driver that no volume can name", "POST", "/apis/storage.k8s.io/v1/csidrivers?dryRun=All", "", `{"metadata":{"name":"0123456789012345678901234567890123456789012345678901234567890123"},"spec":{}}`, 201, ""},
		{"any finalizer of a group version", "POST", "/apis/apiregistration.k8s.io/v1/apiservices?dryRun=All", "", `{"metadata":{"name":"v1.a.b","finalizers":["foo"]},"spec":{"group":"a.b","version":"v1","groupPriorityMinimum":1,"versionPriority":1}}`, 201, "foo"},
		{"no object has the name", "POST", "/apis/apiregistration.k8s.io/v1/apiservices?dryRun=All", "", `{"metadata":{"name":".."},"spec":{"group":"a.b","version":"v1","groupPriorityMinimum":1,"versionPriority":1}}`, 422, `"causes":[{"reason":"FieldValueInvalid","message":"Invalid value: \"..\": may not be '..'","field":"metadata.name"}]`},
		{"it has one name", "POST", "/apis/apiregistration.k8s.io/v1/apiservices?dryRun=All", "", `{"metadata":{"name":"v1.a.b","generateName":"foo"},"spec":{"group":"a.b","version":"v1","groupPriorityMinimum":1,"versionPriority":1}}`, 422, `"field":"metadata.generateName"`},
		{"scale of none", "GET", "/apis/apps/v1/namespaces/default/deployments/q/scale", "", "", 404, `deployments/scale.apps \"q\"`},
		{"scale of no set", "GET", "/apis/apps/v1/namespaces/default/statefulsets/q/scale", "", "", 404, `statefulsets.apps \"q\"`},
		{"controller without labels", "POST", ns + "/replicationcontrollers", "", `{"metadata":{"name":"l"},"spec":{"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`, 201, `"labels":{"a":"b"}`},
		{"its status", "PUT", ns + "/replicationcontrollers/l/status", "", `{"metadata":{"name":"l"},"status":{"replicas":1}}`, 200, `"labels":{"a":"b"}`},
		{"scale of no controller", "GET", ns + "/replicationcontrollers/q/scale", "", "", 404, `replicationcontrollers/scale.autoscaling \"q\"`},
		{"applied scale of none", "PATCH", "/apis/apps/v1/namespaces/default/deployments/q/scale?fieldManager=a", harness.ApplyMedia, `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"q"}}`, 404, `deployments.apps \"q\"`},

		{"pod", "POST", harness.PodsPath, "", harness.PodBody, 201, ""},
		{"no pod evicted by no policy", "POST", harness.PodsPath + "/q/eviction", "", `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"q"},"deleteOptions":{"propagationPolicy":"x"}}`, 404, `pods \"q\"`},
		{"evicted by no policy", "POST", harness.PodsPath + "/p/eviction", "", `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"},"deleteOptions":{"propagationPolicy":"x"}}`, 422, `"field":"propagationPolicy"`},
		{"condition", "PATCH", harness.PodsPath + "/p/status", harness.MergePatchMedia, `{"status":{"conditions":[{"type":"","status":"True"}]}}`, 422, `"field":"metadata.conditions[0].Type"`},
		{"mirror", "PATCH", harness.PodsPath + "/p", harness.MergePatchMedia, `{"metadata":{"annotations":{"kubernetes.io/config.mirror":"x"}}}`, 422, `"field":"metadata.annotations[kubernetes.io/config.mirror]"`},

		{"source of a claim", "POST", ns + "/persistentvolumeclaims", "", `{"metadata":{"name":"c"},` + claim + `,"dataSource":{"kind":"PersistentVolumeClaim","name":"x"}}}`, 201, `"dataSource":{"apiGroup":null,"kind":"PersistentVolumeClaim","name":"x"}`},
		{"unknown source", "POST", ns + "/persistentvolumeclaims", "", `{"metadata":{"name":"d"},` + claim + `,"dataSource":{"kind":"X","name":"x"}}}`, 201, `"volumeMode":"Filesystem"}`},
		{"token", "POST", ns + "/serviceaccounts", "", `{"metadata":{"name":"t"}}`, 201, ""},
		{"of nothing", "POST", ns + "/serviceaccounts/t/token", "", `{"spec":{"audiences":["a"]}}`, 201, `"boundObjectRef":null`},
		{"event", "POST", ns + "/events", "", `{"metadata":{"name":"f","finalizers":["x"]},"involvedObject":{"namespace":"default"}}`, 201, `"finalizers":["x"]`},
		{"with another finalizer", "PATCH", ns + "/events/f", harness.MergePatchMedia, `{"metadata":{"finalizers":["y"]}}`, 200, `"finalizers":["y"]`},
		{"with another one, by the newer group", "PATCH", "/apis/events.k8s.io/v1/namespaces/default/events/f", harness.MergePatchMedia, `{"metadata":{"finalizers":["z"]}}`, 422, `"field":"metadata.finalizers[0]"`},
		{"time of an event", "POST", ns + "/events", "", `{"metadata":{"name":"e"},"involvedObject":{"namespace":"default"},"eventTime":"2020-01-01T00:00:00Z"}`, 400, "six digits"},
	})
}
