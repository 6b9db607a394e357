package audit

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// Config names the recorded requests, and the places of their events: a file, a webhook,
// or both.
type Config struct {
	// PolicyFile has the policy. Default: every request with level Metadata, when it has
	// been answered.
	PolicyFile string
	Log        LogConfig
	Webhook    WebhookConfig
}

// LogConfig describes the log file.
type LogConfig struct {
	// Path of the file, "-" for the standard output; "" for no log.
	Path string
	// MaxSize is the size in megabytes from which a new file is begun. Default 100.
	MaxSize int
	// MaxAge bounds the age of old files in days; 0 for no bound.
	MaxAge int
	// MaxBackups bounds the number of old files; 0 for no bound.
	MaxBackups int
	// Compress packs old files.
	Compress bool
	// Format is json or legacy. Default json.
	Format string
	// Version of the events. There is one.
	Version string
	Delivery
}

// WebhookConfig describes the webhook.
type WebhookConfig struct {
	// ConfigFile is the client configuration (kubeconfig); "" for no webhook.
	ConfigFile string
	// InitialBackoff is the pause before a failed call is repeated; later ones are longer.
	// Default 10s.
	InitialBackoff time.Duration
	// Version of the events. There is one.
	Version string
	Delivery
}

// The modes of delivery.
const (
	modeBatch    = "batch"           // requests do not wait for their events
	modeBlocking = "blocking"        // they do, and go on if that fails
	modeStrict   = "blocking-strict" // a request is refused if its begin cannot be recorded
)

var modes = []string{modeBatch, modeBlocking, modeStrict}

// Delivery is the way of events from requests to a log or a webhook.
type Delivery struct {
	// Mode is batch, blocking or blocking-strict. Default: blocking for the log, batch
	// for the webhook.
	Mode string
	// BufferSize bounds the events that wait or are under way. Default 10000.
	BufferSize int
	// MaxBatchSize bounds the events of a batch. Default 1 for the log, 400 for the webhook.
	MaxBatchSize int
	// MaxBatchWait is the time after which a smaller batch leaves. Default 30s for the
	// webhook; the log does not wait.
	MaxBatchWait time.Duration
	// Throttle bounds the batches a second; a flag for the webhook turns it on.
	Throttle bool
	// QPS are the batches a second, Burst the number at once after a pause. Default 10, 15.
	QPS   float32
	Burst int
	// Truncate bounds the size of events and batches.
	Truncate bool
	// MaxEventBytes bounds an event: a larger one has no bodies. Default 100 KiB.
	MaxEventBytes int64
	// MaxBatchBytes bounds a batch. Default 10 MiB.
	MaxBatchBytes int64
}

func (d *Delivery) setDefaults(mode string, batch int) {
	d.Mode = cmp.Or(d.Mode, mode)
	d.BufferSize = cmp.Or(d.BufferSize, 10000)
	d.MaxBatchSize = cmp.Or(d.MaxBatchSize, batch)
	d.QPS, d.Burst = cmp.Or(d.QPS, 10), cmp.Or(d.Burst, 15)
	d.MaxEventBytes, d.MaxBatchBytes = cmp.Or(d.MaxEventBytes, 100<<10), cmp.Or(d.MaxBatchBytes, 10<<20)
}

// SetDefaults fills in every field that is not set.
func (c *Config) SetDefaults() {
	c.Log.Format, c.Log.Version, c.Webhook.Version = cmp.Or(c.Log.Format, "json"), cmp.Or(c.Log.Version, apiVersion), cmp.Or(c.Webhook.Version, apiVersion)
	c.Log.setDefaults(modeBlocking, 1)
	c.Webhook.setDefaults(modeBatch, 400)
	c.Webhook.MaxBatchWait = cmp.Or(c.Webhook.MaxBatchWait, 30*time.Second)
	c.Webhook.InitialBackoff = cmp.Or(c.Webhook.InitialBackoff, 10*time.Second)
}

// Validate reports all mistakes, joined into one error, or nil.
func (c *Config) Validate() error {
	var all []error
	if c.Log.Path != "" {
		all = append(all, c.Log.validate("log", c.Log.Version))
		if !slices.Contains(formats, c.Log.Format) {
			all = append(all, fmt.Errorf("--audit-log-format: %q is none of %s", c.Log.Format, strings.Join(formats, ", ")))
		}
		for name, n := range map[string]int{"maxage": c.Log.MaxAge, "maxbackup": c.Log.MaxBackups, "maxsize": c.Log.MaxSize} {
			if n < 0 {
				all = append(all, fmt.Errorf("--audit-log-%s: %d is negative", name, n))
			}
		}
	}
	if c.Webhook.ConfigFile != "" {
		all = append(all, c.Webhook.validate("webhook", c.Webhook.Version))
	}
	if c.PolicyFile != "" && c.Log.Path == "" && c.Webhook.ConfigFile == "" {
		all = append(all, errors.New("--audit-policy-file: without a place for the events nothing is recorded; add --audit-log-path or --audit-webhook-config-file"))
	}
	return errors.Join(all...)
}

var formats = []string{"json", "legacy"}

func (d *Delivery) validate(name, version string) error {
	var all []error
	wrong := func(flag string, value any, why string) {
		all = append(all, fmt.Errorf("--audit-%s-%s: %v %s", name, flag, value, why))
	}
	positive := func(flag string, value float64) {
		if value <= 0 {
			wrong(flag, value, "is not positive")
		}
	}
	if version != apiVersion {
		wrong("version", version, "is not known; it is "+apiVersion)
	}
	if !slices.Contains(modes, d.Mode) {
		wrong("mode", d.Mode, "is none of "+strings.Join(modes, ", "))
	}
	if d.Mode == modeBatch {
		positive("batch-buffer-size", float64(d.BufferSize))
		positive("batch-max-size", float64(d.MaxBatchSize))
		if d.Throttle {
			positive("batch-throttle-qps", float64(d.QPS))
			positive("batch-throttle-burst", float64(d.Burst))
		}
	}
	positive("truncate-max-event-size", float64(d.MaxEventBytes))
	if d.MaxBatchBytes < d.MaxEventBytes {
		wrong("truncate-max-batch-size", d.MaxBatchBytes, "is less than an event may have")
	}
	return errors.Join(all...)
}

// AddFlags defines the flags, whose defaults are in c.
func (c *Config) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&c.PolicyFile, "audit-policy-file", c.PolicyFile, "which requests are recorded, and how much of them (default: the metadata of all)")
	fs.StringVar(&c.Log.Path, "audit-log-path", c.Log.Path, "file in which requests are recorded, '-' for the standard output")
	fs.Var(whole[int]{&c.Log.MaxSize}, "audit-log-maxsize", "megabytes of it, after which a new one is begun; 0 for 100")
	fs.Var(whole[int]{&c.Log.MaxAge}, "audit-log-maxage", "days for which old files are kept; 0 for ever")
	fs.Var(whole[int]{&c.Log.MaxBackups}, "audit-log-maxbackup", "old files that are kept; 0 for all")
	fs.BoolVar(&c.Log.Compress, "audit-log-compress", c.Log.Compress, "pack old files")
	fs.StringVar(&c.Log.Format, "audit-log-format", c.Log.Format, "json, or legacy for lines of text")
	fs.StringVar(&c.Log.Version, "audit-log-version", c.Log.Version, "version of the events in the file")
	c.Log.addFlags(fs, "log")
	fs.StringVar(&c.Webhook.ConfigFile, "audit-webhook-config-file", c.Webhook.ConfigFile,
		"client configuration (kubeconfig) for a webhook that receives the events")
	fs.Var(pause{&c.Webhook.InitialBackoff}, "audit-webhook-initial-backoff", "pause before a failed call is repeated; later ones are longer")
	fs.StringVar(&c.Webhook.Version, "audit-webhook-version", c.Webhook.Version, "version of the events for the webhook")
	c.Webhook.Throttle = true
	c.Webhook.addFlags(fs, "webhook")
}

func (d *Delivery) addFlags(fs *pflag.FlagSet, name string) {
	name = "audit-" + name + "-"
	fs.StringVar(&d.Mode, name+"mode", d.Mode, "batch: requests do not wait for their events; blocking: they do; blocking-strict: those that cannot be recorded are refused")
	fs.Var(whole[int]{&d.BufferSize}, name+"batch-buffer-size", "events that may wait, in the mode batch; further ones are lost and counted")
	fs.Var(whole[int]{&d.MaxBatchSize}, name+"batch-max-size", "events of a batch")
	fs.Var(pause{&d.MaxBatchWait}, name+"batch-max-wait", "time after which a smaller batch leaves")
	fs.BoolVar(&d.Throttle, name+"batch-throttle-enable", d.Throttle, "bound the batches a second")
	fs.Float32Var(&d.QPS, name+"batch-throttle-qps", d.QPS, "batches a second")
	fs.Var(whole[int]{&d.Burst}, name+"batch-throttle-burst", "batches at once, after a pause")
	fs.BoolVar(&d.Truncate, name+"truncate-enabled", d.Truncate, "bound the size of events and batches")
	fs.Var(whole[int64]{&d.MaxEventBytes}, name+"truncate-max-event-size", "bytes of an event; a larger one has no bodies")
	fs.Var(whole[int64]{&d.MaxBatchBytes}, name+"truncate-max-batch-size", "bytes of a batch")
}

// whole is the value of a flag with a whole number.
type whole[T int | int64] struct{ at *T }

func (v whole[T]) String() string {
	if v.at == nil {
		return "0"
	}
	return strconv.FormatInt(int64(*v.at), 10)
}

func (v whole[T]) Type() string { return "int" }

func (v whole[T]) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 {
		return fmt.Errorf("%q is not a whole number from 0 to 2147483647", text)
	}
	*v.at = T(n)
	return nil
}

// pause is the value of a flag with a time.
type pause struct{ at *time.Duration }

func (v pause) String() string {
	if v.at == nil {
		return "0s"
	}
	return v.at.String()
}

func (v pause) Type() string { return "duration" }

// longestPause is far from anything sensible.
const longestPause = 10 * 365 * 24 * time.Hour

func (v pause) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > longestPause {
		return fmt.Errorf("%q is not a duration; write it like 90s or 1h30m", text)
	}
	*v.at = d
	return nil
}
