package store

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// damage is a defect of a file.
type damage struct{ err error }

// noteDamage keeps the first damage that a read meets, for Healthy.
func (e *Engine) noteDamage(info pebble.DataCorruptionInfo) {
	e.damage.CompareAndSwap(nil, &damage{fmt.Errorf("store: the file %s is damaged; restore a backup: %w", info.Path, info.Details)})
}

// plain returns a read error in one line that names the damaged file.
func plain(err error) error {
	if info := pebble.ExtractDataCorruptionInfo(err); info != nil {
		return fmt.Errorf("the file %s is damaged: %w", info.Path, info.Details)
	}
	return err
}
