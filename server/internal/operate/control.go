package operate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/capstan-dev/capstan/internal/ranks"
	"github.com/capstan-dev/capstan/internal/store"
	"github.com/capstan-dev/capstan/server/internal/progress"
	"github.com/capstan-dev/capstan/server/internal/stored"
)

// StoreDir is the directory of the store in a data directory.
func StoreDir(dataDir string) string { return filepath.Join(dataDir, "store") }

// controlSocket is the name of the operator's socket in the data directory.
const controlSocket = "control.sock"

// Socket answers the operator's commands about a running server's store, by HTTP on a
// socket in the data directory. Users who may enter the directory may open the socket:
// the file system is the authorization, mode 0600 from its first moment.
//
//	POST /backup?to=DIR   an online backup; answers with store.Stats
//	POST /migrate         a migration; a Step on each line, then {"error":…}
//	GET  /stats           store.Stats
type Socket struct {
	http *http.Server
	path string
}

// Listen begins to listen, for requests whose heads arrive within headTimeout. The server
// can do without the socket, so an obstacle is only logged. kinds are those to migrate, to
// the encryption that encrypted names.
func Listen(dataDir string, engine *store.Engine, encrypted func() string, kinds func() stored.Kinds, log *slog.Logger, headTimeout time.Duration) *Socket {
	path := filepath.Join(dataDir, controlSocket)
	l, err := listenPrivately(dataDir, path)
	if err != nil {
		log.Warn("the commands 'capstan store backup', 'migrate' and 'stats' will not reach this server", "error", err)
		return nil
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /stats", func(w http.ResponseWriter, _ *http.Request) { writeStats(w, engine) })
	mux.HandleFunc("POST /backup", func(w http.ResponseWriter, r *http.Request) {
		to := r.URL.Query().Get("to")
		if !filepath.IsAbs(to) {
			http.Error(w, "the directory of a backup must be named from the root", http.StatusBadRequest)
			return
		}
		if err := follow(to, engine.Stats(), progress.In(log), func() error { return engine.Backup(filepath.Clean(to)) }); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		log.Info("the store was backed up", "to", to)
		writeStats(w, engine)
	})
	var migrating ranks.Mutex[ranks.Operation]
	mux.HandleFunc("POST /migrate", func(w http.ResponseWriter, r *http.Request) {
		if !migrating.TryLock() {
			http.Error(w, "a migration is running already; wait for its end", http.StatusConflict)
			return
		}
		defer migrating.Unlock()
		lines := json.NewEncoder(w)
		say := func(line any) {
			_ = lines.Encode(line) // the operator may have gone, which ends the request's context
			_ = http.NewResponseController(w).Flush()
		}
		meter := progress.In(log)
		if err := Migrate(r.Context(), engine, encrypted(), kinds, func(step Step) { say(step); step.Show(meter) }); err != nil {
			log.Warn("a migration of the store stopped", "error", err)
			say(migrationLine{Error: err.Error()})
			return
		}
		log.Info("the store was migrated")
	})
	c := &Socket{http: &http.Server{Handler: mux, ReadHeaderTimeout: headTimeout}, path: path}
	go func() { _ = c.http.Serve(l) }() // ends with Close
	return c
}

func writeStats(w http.ResponseWriter, engine *store.Engine) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(engine.Stats()) // the operator may have gone
}

// listenPrivately makes the socket in a directory that other users cannot enter, and
// moves it when its mode is set.
func listenPrivately(dir, path string) (net.Listener, error) {
	private, err := os.MkdirTemp(dir, ".control-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(private) }()
	temporary := filepath.Join(private, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: temporary, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("%w (the name of a socket has about 100 bytes at most)", err)
	}
	l.SetUnlinkOnClose(false)
	// The store's lock is held: an existing socket is of a server that has ended.
	if err := errors.Join(os.Chmod(temporary, 0o600), os.Rename(temporary, path)); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Close ends the listening. The store's Close finishes a running backup.
func (c *Socket) Close() {
	if c == nil {
		return
	}
	_ = os.Remove(c.path)
	_ = c.http.Close()
}

// Client talks to the server that uses a data directory.
type Client struct{ DataDir string }

// Backup backs up the server's store into a directory that does not exist yet, an
// absolute path. The server must be able to write there. The meter shows how far it has come.
func (c Client) Backup(ctx context.Context, dir string, meter *progress.Meter) (stats store.Stats, err error) {
	if stats, err = c.Stats(ctx); err != nil {
		return stats, err
	}
	err = follow(dir, stats, meter, func() (err error) {
		stats, err = c.call(ctx, http.MethodPost, "/backup?to="+url.QueryEscape(dir))
		return err
	})
	return stats, err
}

// Stats returns the figures of the server's store.
func (c Client) Stats(ctx context.Context) (store.Stats, error) {
	return c.call(ctx, http.MethodGet, "/stats")
}

// migrationLine is a line of the answer to a migration.
type migrationLine struct {
	Step
	Error string `json:"error,omitempty"`
}

// Migrate runs a migration in the server, see MigrateStore. It goes on until it is done,
// or until ctx ends.
func (c Client) Migrate(ctx context.Context, report func(Step)) error {
	body, err := c.ask(ctx, http.MethodPost, "/migrate")
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	for lines := json.NewDecoder(body); ; {
		var line migrationLine
		switch err := lines.Decode(&line); {
		case err != nil:
			return fmt.Errorf("the server ended before the migration did; run it again to go on: %w", err)
		case line.Error != "":
			return errors.New(line.Error)
		}
		report(line.Step)
		if line.Done {
			_, err := io.Copy(io.Discard, body) // to the end: then another one can begin
			return err
		}
	}
}

func (c Client) call(ctx context.Context, method, path string) (stats store.Stats, err error) {
	body, err := c.ask(ctx, method, path)
	if err != nil {
		return stats, err
	}
	defer func() { _ = body.Close() }()
	if err := json.NewDecoder(body).Decode(&stats); err != nil {
		return stats, fmt.Errorf("the server's answer cannot be read: %w", err)
	}
	return stats, nil
}

// ask returns the body of a successful answer.
func (c Client) ask(ctx context.Context, method, path string) (io.ReadCloser, error) {
	socket := filepath.Join(c.DataDir, controlSocket)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	request, err := http.NewRequestWithContext(ctx, method, "http://capstan"+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("cannot reach the server that uses %s: %w; run this as the server's user on its machine, or stop the server", c.DataDir, err)
	}
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 4<<10)) // as much as there is
		return nil, errors.Join(errors.New(strings.TrimSpace(string(text))), response.Body.Close())
	}
	return response.Body, nil
}
