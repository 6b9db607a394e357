package move

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/capstan-dev/capstan/internal/encryption"
	"github.com/capstan-dev/capstan/internal/store/etcd"
	"github.com/capstan-dev/capstan/server/internal/catalog"
	"github.com/capstan-dev/capstan/server/internal/options"
	"github.com/capstan-dev/capstan/server/internal/progress"
	"github.com/capstan-dev/capstan/server/internal/shared"
)

// Check reads all values that servers keep in etcd, and prints the key of each one that cannot be read,
// with the reason; the meter shows how far it has come. Those whose keys are to be removed are removed.
// Errors: those of etcd; values that cannot be read and stay; and keys to remove that are not there, or
// whose values can be read.
func Check(ctx context.Context, c *shared.Check, meter *progress.Meter, out io.Writer) (err error) {
	cipher, err := encryption.Read(c.EncryptionFile, catalog.ResourceOfKey)
	if err != nil {
		return err
	}
	defer cipher.Close()
	config, err := checkConfig(c, cipher)
	if err != nil {
		return err
	}
	config.Replica.Progress = meter.At
	defer meter.Hide()
	in, err := etcd.OpenCopy(ctx, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	remove, all, others, left := c.Remove, 0, 0, 0
	if err := in.Each(ctx, false, func(item etcd.Item) error {
		if !isObject(item) {
			others++
			return nil
		}
		all++
		_, wrong := config.Form.Decode(item.Key, item.Data)
		asked := slices.Contains(remove, item.Place)
		switch {
		case wrong == nil && asked:
			return fmt.Errorf("the value of %s can be read: delete it through a server", item.Place)
		case wrong == nil:
			return nil
		case asked:
			if err := in.Remove(ctx, item); err != nil {
				return err
			}
			remove = slices.DeleteFunc(remove, func(place string) bool { return place == item.Place })
			all--
			meter.Hide()
			fmt.Fprintf(out, "%s: removed\n", item.Place)
			return nil
		}
		left++
		meter.Hide()
		fmt.Fprintf(out, "%s: %v\n", item.Place, wrong)
		return nil
	}); err != nil {
		return err
	}
	meter.Hide()
	switch {
	case len(remove) > 0:
		return fmt.Errorf("there is no object at %v", remove)
	case left > 0:
		return fmt.Errorf("%d of %d values cannot be read; give their keys with --encryption-provider-config, or remove one with --remove KEY", left, all)
	}
	fmt.Fprintf(out, "%d values can be read, %d keys are not objects; the newest revision is %d\n", all, others, in.Revision())
	return nil
}

// checkConfig is the configuration of etcd for a check.
func checkConfig(c *shared.Check, cipher *encryption.Cipher) (etcd.Config, error) {
	kinds, err := rows(options.Config{EmulatedVersion: c.EmulatedVersion})
	if err != nil {
		return etcd.Config{}, err
	}
	return configOf(&c.Settings, kinds, cipher)
}
