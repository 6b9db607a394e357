package policy

import (
	"slices"
	"strconv"
	"strings"

	"github.com/capstan-dev/capstan/internal/document"
)

// lifecycle checks the hooks and the stop signal of a container, with its pod's grace period and operating system.
func (p Policy) lifecycle(c *causes, container, spec document.Value) {
	lifecycle := container.Get("lifecycle")
	if !isSet(lifecycle) {
		return
	}
	grace := number(spec.Get("terminationGracePeriodSeconds"))
	for _, name := range [...]string{"postStart", "preStop"} {
		if sleep := lifecycle.At(name, "sleep"); isSet(sleep) {
			p.sleep(c, sleep, grace)
		}
	}
	if signal := lifecycle.Get("stopSignal"); isSet(signal) {
		c.stopSignal(signal, spec.At("os", "name").Text())
	}
}

// sleep checks that a container does not sleep longer than its pod has time to end.
func (p Policy) sleep(c *causes, sleep document.Value, grace int64) {
	seconds, least, why := sleep.Get("seconds"), int64(1), "must be greater than 0"
	if p.on("PodLifecycleSleepActionAllowZero") {
		least, why = 0, "must be non-negative"
	}
	if n := number(seconds); n < least || n > grace {
		if !seconds.Exists() {
			seconds = sleep
		}
		c.InvalidAt(sleep.Path(), seconds, why+" and less than terminationGracePeriodSeconds ("+strconv.FormatInt(grace, 10)+")")
	}
}

// linuxSignals are the signals of Linux, those of real time apart.
var linuxSignals = strings.Fields(`SIGABRT SIGALRM SIGBUS SIGCHLD SIGCLD SIGCONT SIGFPE SIGHUP SIGILL SIGINT SIGIO SIGIOT SIGKILL SIGPIPE SIGPOLL SIGPROF
	SIGPWR SIGQUIT SIGSEGV SIGSTKFLT SIGSTOP SIGSYS SIGTERM SIGTRAP SIGTSTP SIGTTIN SIGTTOU SIGURG SIGUSR1 SIGUSR2 SIGVTALRM SIGWINCH SIGXCPU SIGXFSZ
	SIGRTMIN SIGRTMAX`)

// isLinuxSignal reports whether Linux has a signal: also SIGRTMIN+1 to SIGRTMIN+15, and SIGRTMAX-14 to SIGRTMAX-1.
func isLinuxSignal(name string) bool {
	if rest, ok := strings.CutPrefix(name, "SIGRTMIN+"); ok {
		n, err := strconv.Atoi(rest)
		return err == nil && 1 <= n && n <= 15 && strconv.Itoa(n) == rest
	}
	if rest, ok := strings.CutPrefix(name, "SIGRTMAX-"); ok {
		n, err := strconv.Atoi(rest)
		return err == nil && 1 <= n && n <= 14 && strconv.Itoa(n) == rest
	}
	return slices.Contains(linuxSignals, name)
}

// stopSignal checks that the operating system of a pod is named, and knows the signal.
func (c *causes) stopSignal(signal document.Value, system string) {
	switch {
	case system == "":
		c.Forbidden(signal.Path(), "needs the operating system in spec.os.name")
	case system == "windows" && !signal.Equals("SIGKILL") && !signal.Equals("SIGTERM"):
		c.NotSupported(signal, "SIGKILL", "SIGTERM")
	case system == "linux" && !isLinuxSignal(signal.Text()):
		c.NotSupported(signal, linuxSignals...)
	}
}
