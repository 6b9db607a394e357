package scale

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
)

// profile takes profiles of the CPU, a second long each, until end is called, into the folder
// PROFILES. Without the variable it does nothing.
func (s *instance) profile(name string) (end func()) {
	dir := os.Getenv("PROFILES")
	if dir == "" {
		return func() {}
	}
	ending, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ; i++ {
			text, err := s.exchange(http.MethodGet, "/debug/pprof/profile?seconds=1", "", map[string]string{"Authorization": "Bearer " + token})
			select {
			case <-ending: // the last one is of less than this row
				return
			default:
			}
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s.%d.pprof", name, i)), text, 0o600)
			}
			if err != nil {
				s.t.Error(err)
				return
			}
		}
	}()
	return func() {
		close(ending)
		<-ended
	}
}
