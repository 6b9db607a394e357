package addresses

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"

	"github.com/capstan-dev/capstan/internal/allocate"
	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
	"github.com/capstan-dev/capstan/server/internal/kinds"
)

// assignment allocates the items of one service.
type assignment struct {
	claim        *allocate.Claim
	owner        string
	families     []string
	rules        *document.Hooks // of the documents
	spec, before document.Value
	causes       []schema.Cause // mistakes in requested items
	named        *named         // nil where addresses have no objects
	dryRun       bool
}

// run allocates everything. It returns early with causes, or with an error that is not
// the client's.
func (a *assignment) run() error {
	if a.causes = setFamilies(a.spec, a.before, a.families, a.rules); len(a.causes) > 0 {
		return nil
	}
	if err := a.addresses(); err != nil || len(a.causes) > 0 {
		return err
	}
	if kinds.NeedsNodePort(a.spec.Get("type").Text()) {
		ports := a.newPorts
		if a.before.Exists() {
			ports = a.changedPorts
		}
		if err := ports(); err != nil || len(a.causes) > 0 {
			return err
		}
	}
	return a.healthCheckPort()
}

// addresses allocates the missing addresses of the service's families. A service that had
// some keeps them, and can only get a second one.
func (a *assignment) addresses() error {
	if a.spec.Get("type").Equals("ExternalName") || a.spec.Get("clusterIPs").Index(0).Equals("None") || keepsAddresses(a.spec, a.before) {
		return nil
	}
	from := 0
	if was := a.before.Get("clusterIPs"); was.Len() > 0 && !a.before.Get("type").Equals("ExternalName") {
		if was.Index(0).Equals("None") || a.before.Get("ipFamilies").Len() != 1 || a.spec.Get("ipFamilies").Len() != 2 {
			return nil
		}
		from = 1
	}
	ips := a.spec.SetArray("clusterIPs")
	for i, family := range a.spec.Get("ipFamilies").Elements() {
		if i < from {
			continue
		}
		if asked := ips.Index(i); asked.Text() != "" {
			if err := a.takeAddress(asked.Text()); err != nil {
				a.invalid(ips.Path(), ips, "failed to allocate IP "+asked.Text()+": "+err.Error())
				return nil
			}
			continue
		}
		item, err := a.claim.Any(family.Text())
		if err != nil {
			return api.Internal(a.named.noAddress(a.owner) + err.Error())
		}
		ips.AppendString(item.Address.String())
	}
	if from == 0 {
		a.spec.SetString("clusterIP", a.spec.Get("clusterIPs").Index(0).Text())
	}
	return nil
}

func (a *assignment) takeAddress(text string) error {
	address, err := netip.ParseAddr(text)
	if err != nil {
		return err
	}
	err = a.claim.Take(allocate.Item{Address: address}, a.owner)
	var outside *allocate.OutsideError
	switch {
	case errors.Is(err, allocate.ErrTaken):
		return errors.New("provided IP is already allocated")
	case errors.As(err, &outside) && a.named != nil && (outside.Range == "" || !a.dryRun):
		return errors.New("the provided network does not match the current range")
	case errors.As(err, &outside):
		return fmt.Errorf("the provided IP (%s) is not in the valid range. The range of valid IPs is %s", text, outside.Range)
	}
	return err
}

// newPorts allocates the node ports of a new service. Ports with one number and
// different protocols share theirs.
func (a *assignment) newPorts() error {
	shared := map[int64]int64{} // port → node port
	ports := a.spec.Get("ports")
	for _, port := range ports.Elements() {
		number, asked := whole(port, "port"), whole(port, "nodePort")
		switch have := shared[number]; {
		case asked == 0 && !a.allocatesPorts():
		case have == 0:
			node := askedFor(ports, number)
			var err error
			if node != 0 {
				a.takePort(node, port)
			} else if node, err = a.anyPort(); err != nil {
				return err
			}
			shared[number] = node
			port.SetInt("nodePort", node)
		case asked == 0:
			port.SetInt("nodePort", have)
		case asked != have:
			a.takePort(asked, port)
		}
		if len(a.causes) > 0 {
			return nil
		}
	}
	return nil
}

// askedFor is the requested node port of a port, 0 for none.
func askedFor(ports document.Value, number int64) int64 {
	for _, port := range ports.Elements() {
		if node := whole(port, "nodePort"); node != 0 && whole(port, "port") == number {
			return node
		}
	}
	return 0
}

// changedPorts allocates the node ports that a service did not have before.
func (a *assignment) changedPorts() error {
	had := map[int64]bool{}
	if ownsPorts(a.before) {
		for _, port := range a.before.Get("ports").Elements() {
			had[whole(port, "nodePort")] = true
		}
	}
	for _, port := range a.spec.Get("ports").Elements() {
		switch asked := whole(port, "nodePort"); {
		case asked != 0 && !had[asked]:
			if a.takePort(asked, port); len(a.causes) > 0 {
				return nil
			}
			had[asked] = true
		case asked == 0 && a.allocatesPorts():
			node, err := a.anyPort()
			if err != nil {
				return err
			}
			port.SetInt("nodePort", node)
		}
	}
	return nil
}

// ownsPorts reports whether the node ports in a service's spec are its own. The spec of an
// external name may have numbers that mean nothing, and belong to nobody.
func ownsPorts(spec document.Value) bool { return kinds.NeedsNodePort(spec.Get("type").Text()) }

// allocatesPorts reports whether the service needs node ports that it does not request.
func (a *assignment) allocatesPorts() bool {
	wanted := a.spec.Get("allocateLoadBalancerNodePorts")
	return a.spec.Get("type").Equals("NodePort") || !wanted.Exists() || wanted.Bool()
}

// healthCheckPort allocates the port on which nodes report whether they have pods of the
// service, when it needs one and did not before.
func (a *assignment) healthCheckPort() error {
	if !kinds.NeedsHealthCheck(a.spec) || kinds.NeedsHealthCheck(a.before) && whole(a.before, "healthCheckNodePort") != 0 {
		return nil
	}
	if asked := whole(a.spec, "healthCheckNodePort"); asked != 0 {
		a.take(asked, a.spec, "healthCheckNodePort")
		return nil
	}
	node, err := a.anyPort()
	if err != nil {
		return err
	}
	a.spec.SetInt("healthCheckNodePort", node)
	return nil
}

func (a *assignment) anyPort() (int64, error) {
	item, err := a.claim.Any("")
	if err != nil {
		return 0, api.Internal("failed to allocate a nodePort: " + err.Error())
	}
	return int64(item.Port), nil
}

func (a *assignment) takePort(n int64, port document.Value) { a.take(n, port, "nodePort") }

// take takes the port n, which a member of v requests.
func (a *assignment) take(n int64, v document.Value, name string) {
	err := error(&allocate.OutsideError{})
	if n > 0 && n <= 65535 {
		err = a.claim.Take(allocate.Item{Port: int(n)}, a.owner)
	}
	var outside *allocate.OutsideError
	switch path := v.Path() + "." + name; {
	case errors.Is(err, allocate.ErrTaken):
		a.cause(path, strconv.FormatInt(n, 10), "provided port is already allocated")
	case errors.As(err, &outside):
		a.cause(path, strconv.FormatInt(n, 10), "provided port is not in the valid range. The range of valid ports is "+outside.Range)
	}
}

func (a *assignment) invalid(path string, v document.Value, why string) {
	a.cause(path, string(v.AppendJSON(nil)), why)
}

func (a *assignment) cause(path, value, why string) {
	a.causes = append(a.causes, schema.Cause{Reason: schema.CauseInvalid, Field: path, Message: "Invalid value: " + value + ": " + why})
}

// whole is a member that is a whole number, 0 for anything else.
func whole(v document.Value, name string) int64 {
	n, _ := v.Get(name).Int()
	return n
}
