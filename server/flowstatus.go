package server

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/capstan-dev/capstan/internal/api"
	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/catalog"
)

// flowManager is the manager of the status of flow schemas.
const flowManager = "api-priority-and-fairness-config-consumer-v1"

// followFlowSchemas says in the status of every flow schema whether the priority
// level that it names exists: it returns when it has said so, and goes on until
// ctx ends.
func (s *Server) followFlowSchemas(ctx context.Context) error {
	schemas, levels := s.catalog.Snapshot().Stored(flowGroup, "flowschemas"), s.catalog.Snapshot().Stored(flowGroup, "prioritylevelconfigurations")
	if schemas == nil || levels == nil || s.cfg.DisablePriorityAndFairness {
		return nil
	}
	wake := make(chan struct{}, 1)
	_, cancel := s.store.Subscribe(func(changes []*store.Change) {
		for _, c := range changes {
			if strings.HasPrefix(c.Entry.Key, schemas.Prefix("")) || strings.HasPrefix(c.Entry.Key, levels.Prefix("")) {
				select {
				case wake <- struct{}{}:
				default:
				}
				return
			}
		}
	})
	if err := s.tellDangling(ctx, schemas, levels); err != nil {
		cancel()
		return err
	}
	s.background.Go(func() {
		defer cancel()
		for {
			select {
			case <-ctx.Done():
				return
			case <-wake:
			}
			if err := s.tellDangling(ctx, schemas, levels); err != nil && ctx.Err() == nil {
				s.log.Error("cannot say which flow schemas are of use", "error", err)
			}
		}
	})
	return nil
}

// tellDangling brings the status of all flow schemas up to date.
func (s *Server) tellDangling(ctx context.Context, schemas, levels *catalog.Row) error {
	reader, err := s.store.At(ctx, 0)
	if err != nil {
		return err
	}
	there := map[string]bool{}
	err = reader.ScanMeta(ctx, levels.Prefix(""), "", func(e *store.Entry) bool {
		_, name := levels.SplitKey(strings.Clone(e.Key))
		there[name] = true
		return true
	})
	wrong := map[string]string{} // schema → level
	err = errors.Join(err, reader.Scan(ctx, schemas.Prefix(""), "", func(e *store.Entry) bool {
		doc, err := document.ReadStored(schemas.GV.Table, schemas.Type, e.Body)
		if err != nil {
			return true
		}
		defer doc.Release()
		level := doc.Root().At("spec", "priorityLevelConfiguration", "name").Text()
		if !dangling(doc.Root()).Get("status").Equals(danglingStatus(there[level])) {
			_, name := schemas.SplitKey(strings.Clone(e.Key))
			wrong[name] = strings.Clone(level)
		}
		return true
	}), reader.Close())
	for name, level := range wrong {
		if e := s.setDangling(ctx, schemas, name, level, there[level]); !isReason(e, api.ReasonNotFound) {
			err = errors.Join(err, e)
		}
	}
	return err
}

// dangling is the condition of a flow schema that tells whether it is of no use.
func dangling(obj document.Value) document.Value {
	return obj.At("status", "conditions").ElementBy("type", "Dangling")
}

func danglingStatus(levelExists bool) string {
	if levelExists {
		return "False"
	}
	return "True"
}

func (s *Server) setDangling(ctx context.Context, schemas *catalog.Row, name, level string, exists bool) error {
	t := target{resource: schemas, name: name, sub: schemas.Subresource("status")}
	var doc *document.Document
	defer func() { doc.Release() }()
	_, err := s.transact(ctx, t, writeOptions{manager: flowManager}, func(current *store.Entry, _ document.Value) (document.Value, error) {
		if current == nil {
			return document.Value{}, api.NotFound(schemas.GroupResource(), name)
		}
		var err error
		if doc, err = document.ReadStored(schemas.GV.Table, schemas.Type, current.Body); err != nil {
			return document.Value{}, err
		}
		if dangling(doc.Root()).Get("status").Equals(danglingStatus(exists)) {
			return document.Value{}, errNothing
		}
		reason, but := "Found", "and it exists"
		if !exists {
			reason, but = "NotFound", "but there is no such object"
		}
		c := api.Condition{Type: "Dangling", Status: danglingStatus(exists), Reason: reason,
			Message: fmt.Sprintf("This FlowSchema references the PriorityLevelConfiguration object named %q %s", level, but)}
		c.Set(doc.Root().SetObject("status").SetArray("conditions"), s.now())
		return doc.Root(), nil
	})
	if errors.Is(err, errNothing) {
		return nil
	}
	return err
}
