package emit

import (
	"github.com/capstan-dev/capstan/generator/internal/model"
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/schema"
)

// The model of the tests: two served group versions and the shared types, each
// with one of every thing that the emitters treat in their own way.

func object1(description string, fields ...schema.Property) *schema.Schema {
	return &schema.Schema{Type: "object", Description: description, Properties: fields}
}

func field(name string, s schema.Schema) schema.Property {
	return schema.Property{Name: name, Schema: &s}
}

func text(description string) schema.Schema {
	return schema.Schema{Type: "string", Description: description}
}

func refTo(ref, description string) schema.Schema {
	return schema.Schema{Ref: ref, Description: description}
}

func declare(gv *model.GroupVersion, name string, kind bool, s *schema.Schema) *model.Type {
	t := &model.Type{GV: gv, Name: name, ID: gv.Dir + "." + name, Kind: kind, Schema: s}
	gv.Types = append(gv.Types, t)
	return t
}

var allVerbs = []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}

func testModel() *model.Model {
	meta := &model.GroupVersion{Dir: "meta/v1", Version: "v1"}
	core := &model.GroupVersion{Dir: "core/v1", Version: "v1", Served: true}
	apps := &model.GroupVersion{Dir: "apps/v1", Group: "apps", Version: "v1", Served: true}
	authn := &model.GroupVersion{Dir: "authentication/v1", Group: "authentication.k8s.io", Version: "v1"}
	metadata := field("metadata", schema.Schema{Ref: "/meta/v1/ObjectMeta", Description: "Standard metadata.", Presence: "always"})
	one, max := 1.0, 65536.0

	for _, kind := range []string{"APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "DeleteOptions", "Status"} {
		declare(meta, kind, true, object1(kind+" of the server.", field("code", schema.Schema{Type: "integer", Format: "int32", Description: "Code."})))
	}
	declare(meta, "Table", true, object1("Rows for people.", field("rows", schema.Schema{Type: "array", Items: &schema.Schema{Type: "string"}, Description: "Rows."})))
	declare(meta, "ListMeta", false, object1("Metadata of lists.", field("resourceVersion", text("Version of the list."))))
	declare(meta, "ObjectMeta", false, object1("Metadata of objects.",
		field("name", text("Unique name.")), field("namespace", text("Namespace of the object.")), field("uid", text("Unique in time and space.")), field("resourceVersion", text("Version of the object.")),
		field("creationTimestamp", schema.Schema{Type: "string", Format: "date-time", Presence: "always", Description: "When the object was made."}),
		field("labels", schema.Schema{Type: "object", Additional: &schema.Schema{Type: "string"}, Description: "Labels."}),
		field("fieldsV1", schema.Schema{PreserveAny: true, BinaryForm: "raw", Description: "Owned fields."})))

	container := object1("One container of a pod.",
		field("name", text("Name of the container.")),
		field("ports", schema.Schema{Type: "array", Items: &schema.Schema{Ref: "#/$defs/ContainerPort"}, Description: "Ports.", ListType: "map",
			ListMapKeys: []string{"containerPort", "protocol"}, PatchStrategy: []string{"merge"}, PatchMergeKey: "containerPort"}),
		field("tty", schema.Schema{Type: "boolean", Description: "Use a terminal."}))
	container.Required = []string{"name"}
	port := object1("A port of a container.",
		field("containerPort", schema.Schema{Type: "integer", Format: "int32", ExclusiveMinimum: new(float64), ExclusiveMaximum: &max, Description: "Number."}),
		field("protocol", schema.Schema{Type: "string", Enum: []string{"SCTP", "TCP", "UDP"}, Default: []byte(`"TCP"`), Description: "Protocol."}))
	port.Required = []string{"containerPort"}
	podSpec := object1("What a pod runs.",
		field("containers", schema.Schema{Type: "array", Items: &schema.Schema{Ref: "#/$defs/Container"}, Description: "Containers.",
			PatchStrategy: []string{"merge"}, PatchMergeKey: "name"}),
		field("hostIPC", schema.Schema{Type: "boolean", Description: "Share it."}),
		field("priority", schema.Schema{Type: "integer", Format: "int32", Presence: "explicit", Description: "Priority of the pod, a text that is long enough to be wrapped when it becomes a comment of a Go field."}),
		field("overhead", schema.Schema{Type: "object", Additional: &schema.Schema{Format: "quantity"}, Description: "Costs."}),
		field("preemptionPolicy", schema.Schema{Type: "string", Presence: "explicit", Default: []byte(`"PreemptLowerPriority"`), Description: "Policy."}))
	podSpec.Required = []string{"containers"}
	declare(core, "Container", false, container)
	declare(core, "ContainerPort", false, port)
	declare(core, "Empty", false, object1("Nothing to say."))
	pod := declare(core, "Pod", true, object1("A group of containers.", metadata,
		field("spec", schema.Schema{Ref: "#/$defs/PodSpec", Description: "Wanted state.", Presence: "always", Default: []byte(`{}`)}),
		field("empty", refTo("#/$defs/Empty", "Empty."))))
	declare(core, "PodLogOptions", true, object1("Options of log.", field("tailLines", schema.Schema{Type: "integer", Format: "int64", Presence: "explicit", Description: "Lines."})))
	declare(core, "PodProxyOptions", true, object1("Options of proxy.", field("path", text("Path."))))
	declare(core, "PodSpec", false, podSpec)
	binding := declare(core, "Binding", true, object1("Binds a pod.", metadata))
	node := declare(core, "Node", true, object1("A worker.", metadata))

	deployment := declare(apps, "Deployment", true, object1("Keeps pods running.", metadata, field("spec", refTo("#/$defs/DeploymentSpec", "Wanted state."))))
	declare(apps, "DeploymentSpec", false, object1("Wanted state of a deployment.",
		field("replicas", schema.Schema{Type: "integer", Format: "int32", Minimum: &one, Default: []byte("1"), Presence: "explicit", Description: "How many."}),
		field("template", refTo("/core/v1/PodSpec", "Pods.")),
		field("maxSurge", schema.Schema{Format: "int-or-string", Presence: "explicit", Description: "Most."}),
		field("data", schema.Schema{Type: "string", Format: "byte", Description: "Bytes."}),
		field("any", schema.Schema{PreserveAny: true, BinaryForm: "raw", Description: "Anything."})))
	token := declare(authn, "TokenRequest", true, object1("Asks for a token.", metadata, field("ttl", schema.Schema{Format: "duration", Description: "Time to live."})))

	core.Resources = []*model.Resource{
		{GV: core, Plural: "bindings", Kind: "Binding", ListKind: "BindingList", Type: binding, Namespaced: true, Verbs: []string{"create"}},
		{GV: core, Plural: "nodes", Kind: "Node", ListKind: "NodeList", Type: node, Verbs: allVerbs, Deprecation: model.Deprecation{DeprecatedSince: "1.19", Replacement: "v2 Node"}},
		{GV: core, Plural: "pods", Kind: "Pod", ListKind: "PodList", Type: pod, Namespaced: true, Stored: true, Verbs: allVerbs, HasStatus: true, DeleteReturnsObject: true,
			Subresources: []model.Subresource{
				{Name: "binding", Verbs: []string{"create"}, Type: binding},
				{Name: "log", Endpoint: api.EndpointLog, Verbs: []string{"get"}, Type: pod},
				{Name: "proxy", Endpoint: api.EndpointProxyPod, Verbs: []string{"create", "delete", "get", "patch", "update"}, Type: core.Types[5]},
				{Name: "status", Verbs: []string{"get", "patch", "update"}, Type: pod},
				{Name: "token", Verbs: []string{"create"}, Type: token},
			}},
	}
	apps.Resources = []*model.Resource{
		{GV: apps, Plural: "deployments", Kind: "Deployment", ListKind: "DeploymentList", Type: deployment, Namespaced: true, Stored: true, Verbs: allVerbs},
	}
	return &model.Model{
		Profile:       model.Profile{GroupSuffix: "k8s.io", LabelDomain: "kubernetes.io", MediaTypeWord: "kubernetes", ExtensionPrefix: "x-kubernetes-"},
		GroupVersions: []*model.GroupVersion{apps, authn, core, meta},
	}
}
