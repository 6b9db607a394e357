package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"gopkg.in/natefinch/lumberjack.v2"

	"github.com/capstan-dev/capstan/internal/webhook"
)

// file is a log file, or the standard output.
type file struct {
	out    io.Writer
	closer io.Closer // nil for the standard output
	legacy bool
}

// newFile opens the log. The file is made at once, so that a mistake is noticed.
func newFile(cfg *LogConfig) (*file, error) {
	f := &file{out: os.Stdout, legacy: cfg.Format == "legacy"}
	if cfg.Path == "-" {
		return f, nil
	}
	if err := os.MkdirAll(filepath.Dir(cfg.Path), 0o700); err != nil {
		return nil, fmt.Errorf("the audit log cannot be made: %w", err)
	}
	made, err := os.OpenFile(cfg.Path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		err = made.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("the audit log cannot be written: %w", err)
	}
	rotated := &lumberjack.Logger{Filename: cfg.Path, MaxSize: cfg.MaxSize, MaxAge: cfg.MaxAge, MaxBackups: cfg.MaxBackups, Compress: cfg.Compress}
	f.out, f.closer = rotated, rotated
	return f, nil
}

func (f *file) name() string { return "log" }

func (f *file) apart() bool { return false }

func (f *file) text(e *Event, line []byte) []byte {
	if f.legacy {
		return e.legacy()
	}
	return line
}

func (f *file) send(_ context.Context, events [][]byte) error {
	var failed error
	for _, line := range events {
		if _, err := f.out.Write(line); err != nil {
			failed = err
		}
	}
	return failed
}

func (f *file) close() error {
	if f.closer == nil {
		return nil
	}
	return f.closer.Close()
}

// receiver is a webhook that receives events.
type receiver struct {
	client  *webhook.Client
	backoff time.Duration
}

func newReceiver(cfg *WebhookConfig) (*receiver, error) {
	target, err := webhook.ReadReceiver(cfg.ConfigFile)
	if err != nil {
		return nil, fmt.Errorf("audit webhook: %w", err)
	}
	client, err := webhook.New(target, nil)
	if err != nil {
		return nil, fmt.Errorf("audit webhook: %w", err)
	}
	return &receiver{client: client, backoff: cfg.InitialBackoff}, nil
}

func (r *receiver) name() string { return "webhook" }

func (r *receiver) apart() bool { return true }

// text is the event as an item of a list.
func (r *receiver) text(_ *Event, line []byte) []byte {
	item := append([]byte{'{'}, line[len(head):]...)
	return item[:len(item)-1]
}

// Calls of a webhook that fail are repeated.
const (
	callTries = 5
	callTime  = 30 * time.Second
)

func (r *receiver) send(ctx context.Context, events [][]byte) error {
	body := []byte(`{"kind":"EventList","apiVersion":"` + apiVersion + `","metadata":{},"items":[`)
	for i, item := range events {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, item...)
	}
	body = append(body, "]}"...)
	wait := r.backoff
	for try := 1; ; try++ {
		_, err := r.client.Call(ctx, webhook.Call{Body: body, Timeout: callTime, NoAnswer: true})
		if err == nil || try == callTries {
			return err
		}
		select {
		case <-time.After(wait + time.Duration(rand.Float64()*float64(wait)/5)):
			wait += wait / 2
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
}

func (r *receiver) close() error {
	r.client.Close()
	return nil
}
