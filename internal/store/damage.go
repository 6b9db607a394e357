package store

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// damage is what is wrong with a file.
type damage struct{ err error }

// noteDamage keeps the first damage that reading meets, for Healthy.
func (e *Engine) noteDamage(info pebble.DataCorruptionInfo) {
	e.damage.CompareAndSwap(nil, &damage{fmt.Errorf("store: the file %s is damaged; restore a backup: %w", info.Path, info.Details)})
}

// plain gives an error of reading in one line: damage names its file.
func plain(err error) error {
	if info := pebble.ExtractDataCorruptionInfo(err); info != nil {
		return fmt.Errorf("the file %s is damaged: %w", info.Path, info.Details)
	}
	return err
}
