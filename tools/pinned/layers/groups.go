package main

// group is a box of the picture: packages that are read together.
type group struct {
	name, subject string
	row           int      // from the top
	left, right   int      // of the columns, in twelfths of the width
	packages      []string // in which "*" is any one name, in the order in which the box shows them
}

const (
	rooms   = "server/internal/"
	engines = "internal/"
)

// groups are all boxes. An arrow may only lead down, and not through another box.
var groups = []group{
	{"server", "starts the process and makes the rooms, each from those below it", 0, 0, 12,
		[]string{"server", "server/internal/seams", "server/command", "server/manual", "server/builtin", "server/servertest", "server/cmd/capstan",
			"server/cmd/capstan-etcd", "server/internal/doctor", "server/internal/etcdstore", "server/internal/move", "server/internal/status"}},
	{"requests", "from the path to the answer", 1, 0, 12,
		in(rooms, "serve", "endpoints", "verbs", "request", "extensions", "outbound", "stream", "conns", "health")},
	{"background", "what the server does by itself", 2, 0, 12,
		in(rooms, "background", "kinds/custom", "operate", "registry", "shared")},
	{"policies and webhooks", "admission by stored objects", 3, 0, 6,
		in(rooms, "admission/policies", "admission/webhooks", "admission/matching", "admission/quota")},
	{"identity", "users, their rights and shares", 3, 6, 12,
		in(rooms, "identity/rbac", "identity/nodes", "identity/accounts", "identity/pki", "flowcontrol", "bootstrap")},
	{"objects", "the one way to write", 4, 0, 6,
		in(rooms, "objects", "kinds/addresses", "kinds/references")},
	{"admission", "the chain of plug-ins, and the plug-ins that are built in", 5, 0, 12,
		in(rooms, "admission")},
	{"surroundings", "switches, figures, descriptions", 6, 0, 8,
		in(rooms, "options", "discovery", "metrics", "logging", "progress", "hangups")},
	{"kinds", "rules of single kinds", 6, 8, 12,
		in(rooms, "kinds/policy", "kinds/definitions", "kinds/conversion", "kinds", "admission/conditions")},
	{"state", "rows and stored objects", 7, 0, 4,
		in(rooms, "stored", "live", "catalog")},
	{"generated", "from the documents", 7, 4, 8,
		in(engines, "gen/catalog", "gen/openapi", "gen/gates", "gen/releases", "gen/*/*")},
	{"engines", "in internal/: one subject each, without knowledge of the server", 8, 0, 12,
		append(in(engines, "gen/profile"), in(engines, "*", "store/etcd")...)},
}

// notDrawn are the packages outside of the boxes: for tests, for other programs, the documents
// and their compiler.
var notDrawn = []string{"explorer", "openapi", "schemas", "client", "gen/client", "gen/*/*", "value", "object", "action", "kit/*", "nodeapi", "examples/*",
	"generator", "generator/*", "generator/*/*", "internal/sbom", "internal/storetest", "internal/storetest/*", "internal/authztest",
	"internal/streamtest", "internal/history", "internal/lint",
	"internal/measured", "internal/etcdtest", "internal/etcdtest/member", "internal/balancer", "internal/kmstest", "internal/docpage",
	"server/internal/harness", "server/internal/identity", "server/internal/reference", "tools/bench/*", "tools/facts"}

func in(folder string, names ...string) (packages []string) {
	for _, name := range names {
		packages = append(packages, folder+name)
	}
	return packages
}
