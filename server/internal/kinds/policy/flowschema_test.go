package policy_test

import "testing"

// everything is the part of the fixed schemas that all of them have.
const everything = "resourceRules: [{verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*']}], " +
	"nonResourceRules: [{verbs: ['*'], nonResourceURLs: ['*']}]"

func TestFlowSchema(t *testing.T) {
	head := "apiVersion: flowcontrol.apiserver.k8s.io/v1beta2\nkind: FlowSchema\nmetadata: {name: builders}\n"
	schema := func(text string) string { return "spec: {priorityLevelConfiguration: {name: a}, " + text + "}" }
	who := func(text string) string {
		return schema("rules: [{subjects: [" + text + "], nonResourceRules: [{verbs: [get], nonResourceURLs: [/]}]}]")
	}
	rule := func(text string) string {
		return schema("rules: [{subjects: [{kind: User, user: {name: '*'}}], " + text + "}]")
	}
	resources := func(text string) string {
		return rule("resourceRules: [{verbs: [get], apiGroups: [''], resources: [pods], " + text + "}]")
	}
	paths := func(text string) string {
		return rule("nonResourceRules: [{verbs: [get, proxy], nonResourceURLs: " + text + "}]")
	}
	runCreate(t, head, []createCase{
		{"least", schema(""), ""},
		{"nothing", "", "spec.priorityLevelConfiguration.name: Required"},
		{"level", "spec: {priorityLevelConfiguration: {name: A_}}", "spec.priorityLevelConfiguration.name: Invalid"},
		{"first", schema("matchingPrecedence: 1"), "spec.matchingPrecedence: Invalid"},
		{"last", schema("matchingPrecedence: 10000"), ""},
		{"after the last", schema("matchingPrecedence: 10001"), "spec.matchingPrecedence: Invalid"},
		{"zero", schema("matchingPrecedence: 0"), ""},
		{"negative", schema("matchingPrecedence: -1"), "spec.matchingPrecedence: Invalid"},
		{"method", schema("distinguisherMethod: {type: ByMood}"), "spec.distinguisherMethod.type: NotSupported"},
		{"no method", schema("distinguisherMethod: {}"), "spec.distinguisherMethod.type: NotSupported"},
		{"no rule", schema("rules: [{}]"), "spec.rules[0]: Required; spec.rules[0].subjects: Required"},

		{"account", who("{kind: ServiceAccount, serviceAccount: {namespace: a, name: '*'}}"), ""},
		{"account's name", who("{kind: ServiceAccount, serviceAccount: {namespace: A_, name: A_}}"),
			"spec.rules[0].subjects[0].serviceAccount.name: Invalid; spec.rules[0].subjects[0].serviceAccount.namespace: Invalid"},
		{"no account", who("{kind: ServiceAccount}"), "spec.rules[0].subjects[0].serviceAccount: Required"},
		{"no user", who("{kind: User}"), "spec.rules[0].subjects[0].user: Required"},
		{"no user's name", who("{kind: User, user: {}}"), "spec.rules[0].subjects[0].user.name: Required"},
		{"user for group", who("{kind: Group, user: {}}"), "spec.rules[0].subjects[0].group: Required; spec.rules[0].subjects[0].user: Forbidden"},
		{"robot", who("{kind: Robot, user: {name: a}}"), "spec.rules[0].subjects[0].kind: NotSupported"},
		{"no kind", who("{user: {name: a}}"), "spec.rules[0].subjects[0].kind: NotSupported"},

		{"namespaces", resources("namespaces: [a, b]"), ""},
		{"cluster", resources("clusterScope: true"), ""},
		{"neither", resources("clusterScope: false"), "spec.rules[0].resourceRules[0].namespaces: Required"},
		{"namespace", resources("namespaces: [a, A_]"), "spec.rules[0].resourceRules[0].namespaces[1]: Invalid"},
		{"any and one", resources("namespaces: ['*', a]"), "spec.rules[0].resourceRules[0].namespaces: Invalid"},
		{"wildcards", rule("resourceRules: [{verbs: ['*', get], apiGroups: ['*', a], resources: ['*', pods], namespaces: ['*']}]"),
			"spec.rules[0].resourceRules[0].verbs: Invalid; spec.rules[0].resourceRules[0].apiGroups: Invalid; spec.rules[0].resourceRules[0].resources: Invalid"},
		{"empty", rule("resourceRules: [{verbs: [], clusterScope: true}]"),
			"spec.rules[0].resourceRules[0].verbs: Required; spec.rules[0].resourceRules[0].apiGroups: Required; spec.rules[0].resourceRules[0].resources: Required"},
		{"verb", rule("nonResourceRules: [{verbs: [get, head], nonResourceURLs: [/]}]"), "spec.rules[0].nonResourceRules[0].verbs: NotSupported"},

		{"paths", paths("[/, /healthz, /healthz/*]"), ""},
		{"no path", paths("[]"), "spec.rules[0].nonResourceRules[0].nonResourceURLs: Required"},
		{"any path", paths("['*']"), ""},
		{"any path and one", paths("['*', /a]"), "spec.rules[0].nonResourceRules[0].nonResourceURLs: Invalid"},
		{"empty path", paths("['']"), "spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid"},
		{"relative", paths("[/a, a]"), "spec.rules[0].nonResourceRules[0].nonResourceURLs[1]: Invalid"},
		{"space", paths("['/a b']"), "spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid"},
		{"slashes", paths("[/a//b]"), "spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid"},
		{"star inside", paths("[/a*]"), "spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid"},
		{"two stars", paths("[/*/*]"), "spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid"},

		{"conditions", schema("") + "\nstatus: {conditions: [{type: a}, {type: a}, {status: 'True'}]}",
			"status.conditions[1].type: Duplicate; status.conditions[2].type: Required"},
	})
	runCells(t, head, []cellCase{
		{"none", schema(""), "DistinguisherMethod", "<none>"},
		{"one", schema("distinguisherMethod: {type: ByUser}"), "DistinguisherMethod", "ByUser"},
		{"unknown", schema(""), "MissingPL", "?"},
		{"known", schema("") + "\nstatus: {conditions: [{type: Dangling, status: 'False'}]}", "MissingPL", "False"},
	})
}

func TestFixedFlowSchemas(t *testing.T) {
	runCreate(t, "apiVersion: flowcontrol.apiserver.k8s.io/v1beta2\nkind: FlowSchema\n", []createCase{
		{"exempt", "metadata: {name: exempt}\nspec: {priorityLevelConfiguration: {name: exempt}, matchingPrecedence: 1, " +
			"rules: [{subjects: [{kind: Group, group: {name: 'system:masters'}}], " + everything + "}]}", ""},
		{"other exempt", "metadata: {name: exempt}\nspec: {priorityLevelConfiguration: {name: exempt}, matchingPrecedence: 1}", "spec: Invalid"},
		{"catch-all", "metadata: {name: catch-all}\nspec: {priorityLevelConfiguration: {name: catch-all}, matchingPrecedence: 10000, distinguisherMethod: {type: ByUser}, " +
			"rules: [{subjects: [{kind: Group, group: {name: 'system:unauthenticated'}}, {kind: Group, group: {name: 'system:authenticated'}}], " + everything + "}]}", ""},
	})
}

func TestPriorityLevelConfiguration(t *testing.T) {
	head := "apiVersion: flowcontrol.apiserver.k8s.io/v1beta2\nkind: PriorityLevelConfiguration\nmetadata: {name: builds}\n"
	queue := func(text string) string {
		return "spec: {type: Limited, limited: {limitResponse: {type: Queue, queuing: {" + text + "}}}}"
	}
	runCreate(t, head, []createCase{
		{"queues", queue(""), ""},
		{"rejects", "spec: {type: Limited, limited: {limitResponse: {type: Reject}}}", ""},
		{"nothing", "", "spec.type: NotSupported"},
		{"no limits", "spec: {type: Limited}", "spec.limited: Required"},
		{"exempt", "spec: {type: Exempt}", "spec.type: Invalid"},
		{"exempt and limited", "spec: {type: Exempt, limited: {limitResponse: {type: Reject}}}", "spec.type: Invalid; spec.limited: Forbidden"},
		{"response", "spec: {type: Limited, limited: {}}", "spec.limited.limitResponse.type: NotSupported"},
		{"no queues", "spec: {type: Limited, limited: {limitResponse: {type: Queue}}}", "spec.limited.limitResponse.queuing: Required"},
		{"rejects with queues", "spec: {type: Limited, limited: {limitResponse: {type: Reject, queuing: {}}}}", "spec.limited.limitResponse.queuing: Forbidden"},
		{"shares", "spec: {type: Limited, limited: {assuredConcurrencyShares: -1, limitResponse: {type: Reject}}}", "spec.limited.assuredConcurrencyShares: Invalid"},
		{"negative", queue("queues: -1, handSize: -1, queueLengthLimit: -1"),
			"spec.limited.limitResponse.queuing.queues: Invalid; spec.limited.limitResponse.queuing.handSize: Invalid; spec.limited.limitResponse.queuing.queueLengthLimit: Invalid"},
		{"hand over queues", queue("queues: 7"), "spec.limited.limitResponse.queuing.handSize: Invalid"},
		{"all in hand", queue("queues: 8"), ""},
		{"too many hands", queue("queues: 1001"), "spec.limited.limitResponse.queuing.handSize: Invalid"},
		{"conditions", queue("") + "\nstatus: {conditions: [{type: a}, {type: a}]}", "status.conditions[1].type: Duplicate"},
	})
	runCreate(t, "apiVersion: flowcontrol.apiserver.k8s.io/v1beta2\nkind: PriorityLevelConfiguration\n", []createCase{
		{"fixed", "metadata: {name: exempt}\nspec: {type: Exempt}", ""},
		{"changed", "metadata: {name: exempt}\n" + queue(""), "spec: Invalid; spec.type: Invalid"},
		{"catch-all", "metadata: {name: catch-all}\nspec: {type: Limited, limited: {assuredConcurrencyShares: 5, limitResponse: {type: Reject}}}", ""},
		{"changed catch-all", "metadata: {name: catch-all}\nspec: {type: Limited, limited: {limitResponse: {type: Reject}}}", "spec: Invalid"},
	})
	runCells(t, head, []cellCase{
		{"", queue(""), "AssuredConcurrencyShares", int64(30)},
		{"", queue(""), "Queues", int64(64)},
		{"", queue(""), "HandSize", int64(8)},
		{"", queue(""), "QueueLengthLimit", int64(50)},
		{"none", "spec: {type: Exempt}", "AssuredConcurrencyShares", "<none>"},
		{"none", "spec: {type: Limited, limited: {limitResponse: {type: Reject}}}", "Queues", "<none>"},
	})
}
