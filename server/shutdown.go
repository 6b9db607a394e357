package server

import (
	"context"
	"slices"
	"time"
)

// stop is Shutdown with the times of the configuration.
func (s *Server) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.ShutdownDelay+s.cfg.ShutdownTimeout)
	defer cancel()
	s.shutdown(ctx)
}

// Shutdown makes /readyz fail and serves on for the configured delay. Then it refuses new
// requests, ends watches and requests without an effect so far, waits for the others
// until ctx ends, closes the listener and the store. Whatever still runs a moment later is
// left behind: its writes find a closed store. It is safe to call more than once.
func (s *Server) Shutdown(ctx context.Context) error {
	s.shutdown(ctx)
	<-s.done
	return s.failure
}

func (s *Server) shutdown(ctx context.Context) {
	s.once.Do(func() {
		s.health.Leave()
		if s.cfg.ShutdownDelay > 0 {
			select {
			case <-time.After(s.cfg.ShutdownDelay):
			case <-ctx.Done():
			}
		}
		s.env.Intake.Close()
		close(s.stopping)
		s.sweeper.CutEarly()
		controllers := begun(s.controllers.Stop)
		s.env.Intake.Drain(ctx)
		s.closeHTTP(ctx)
		soon, cancel := s.soon(ctx)
		defer cancel()
		s.env.Intake.Drain(soon) // broken requests end at once, but use the store until then
		select {
		case <-controllers:
		case <-soon.Done():
		}
		if soon.Err() != nil {
			s.log.Warn("the server stops while requests or controllers are under way that do not end; what they have not written is lost")
		}
		s.close(ctx)
		close(s.done)
	})
}

// begun runs do beside its caller, and closes the channel at its end.
func begun(do func()) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	return done
}

// soon is ctx, or a moment more when that has ended, and never without a bound.
func (s *Server) soon(ctx context.Context) (context.Context, context.CancelFunc) {
	switch _, bounded := ctx.Deadline(); {
	case ctx.Err() != nil:
		return context.WithTimeout(context.WithoutCancel(ctx), s.cfg.Seams.Durations.Close)
	case !bounded:
		return context.WithTimeout(ctx, s.cfg.ShutdownTimeout)
	}
	return context.WithCancel(ctx)
}

// closeHTTP closes the listener and all connections: no running request needs them any
// more, or ctx has ended.
func (s *Server) closeHTTP(ctx context.Context) {
	soon, cancel := context.WithTimeout(ctx, s.cfg.Seams.Durations.Close)
	defer cancel()
	if err := s.http.Shutdown(soon); err != nil {
		s.breakHTTP()
	}
}

// breakHTTP closes all connections while requests may be under way. Net/http lets TLS
// close one after the other, which would wait for seconds behind a write that a client
// does not read.
func (s *Server) breakHTTP() {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = s.http.Close()
	}()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		s.sweeper.BreakWrites()
		select {
		case <-closed:
			s.sweeper.BreakOff() // those that net/http has given up
			return
		case <-again.C:
		}
	}
}

// close closes the parts that are open, the last opened first. What they have to send on is
// sent until ctx ends, or a moment later.
func (s *Server) close(ctx context.Context) {
	for _, close := range slices.Backward(s.closers) {
		close(ctx)
	}
}
