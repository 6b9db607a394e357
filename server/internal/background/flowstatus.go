package background

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/live"
	"github.com/capstan-dev/capstan/server/internal/objects"
)

// flowManager is the manager of the status of flow schemas.
const flowManager = "api-priority-and-fairness-config-consumer-v1"

// flowObject is the needed part of a flow schema, or stands for an existing priority
// level.
type flowObject struct{ level, dangling string }

// followFlowSchemas keeps the condition in every flow schema's status that reports
// whether its priority level exists: it returns after the first update, and continues
// until ctx ends.
func (c *Controllers) followFlowSchemas(ctx context.Context) error {
	schemas, levels := c.catalog.Snapshot().Stored(flowGroup, "flowschemas"), c.catalog.Snapshot().Stored(flowGroup, "prioritylevelconfigurations")
	if schemas == nil || levels == nil || c.cfg.DisablePriorityAndFairness {
		return nil
	}
	readSchema := live.Read(schemas, func(obj document.Value) *flowObject {
		return &flowObject{level: strings.Clone(obj.At("spec", "priorityLevelConfiguration", "name").Text()),
			dangling: strings.Clone(dangling(obj).Get("status").Text())}
	})
	all, err := live.Open(ctx, live.Config[*flowObject]{Store: c.store, Prefixes: []string{schemas.Prefix(""), levels.Prefix("")}, Logger: c.log,
		Decode: func(e *store.Entry) (*flowObject, error) {
			if strings.HasPrefix(e.Key, levels.Prefix("")) {
				return &flowObject{}, nil
			}
			return readSchema(e)
		}})
	if err != nil {
		return err
	}
	seen := all.View()
	if err := c.writeDangling(ctx, seen, schemas, levels); err != nil {
		all.Close()
		return err
	}
	c.background.Go(func() {
		defer all.Close()
		for {
			if seen, err = all.Next(ctx, seen); err != nil {
				return
			}
			if err := c.writeDangling(ctx, seen, schemas, levels); err != nil && ctx.Err() == nil {
				c.log.Error("cannot say which flow schemas are of use", "error", err)
			}
		}
	})
	return nil
}

// writeDangling updates the status of all flow schemas.
func (c *Controllers) writeDangling(ctx context.Context, all live.View[*flowObject], schemas, levels *catalog.Row) (err error) {
	for key, schema := range all.Under(schemas.Prefix("")) {
		exists := all.Get(levels.Key("", schema.level)) != nil
		if schema.dangling == danglingStatus(exists) {
			continue
		}
		_, name := schemas.SplitKey(key)
		if e := c.setDangling(ctx, schemas, name, schema.level, exists); !api.IsReason(e, api.ReasonNotFound) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// dangling is a flow schema's condition that its priority level is missing.
func dangling(obj document.Value) document.Value {
	return obj.At("status", "conditions").ElementBy("type", "Dangling")
}

func danglingStatus(levelExists bool) string {
	if levelExists {
		return "False"
	}
	return "True"
}

func (c *Controllers) setDangling(ctx context.Context, schemas *catalog.Row, name, level string, exists bool) error {
	of := objects.Ref{Row: schemas, Name: name, Sub: schemas.Subresource("status")}
	_, err := c.objects.Write(ctx, &objects.Write{Ref: of, Opts: objects.Options{Manager: flowManager}, Change: objects.Editing(func(obj document.Value) error {
		if dangling(obj).Get("status").Equals(danglingStatus(exists)) {
			return objects.ErrNothing
		}
		reason, but := "Found", "and it exists"
		if !exists {
			reason, but = "NotFound", "but there is no such object"
		}
		condition := api.Condition{Type: "Dangling", Status: danglingStatus(exists), Reason: reason,
			Message: fmt.Sprintf("This FlowSchema references the PriorityLevelConfiguration object named %q %s", level, but)}
		condition.Set(obj.SetObject("status").SetArray("conditions"), c.objects.Now())
		return nil
	})})
	return err
}
