//go:build !linux

package doctor

import (
	"context"
	"errors"

	"github.com/capstan-dev/capstan/client"
)

// fileSystem knows nothing of file systems here.
func fileSystem(string) (free uint64, kind int64, err error) { return 0, 0, errors.ErrUnsupported }

func unsuitedFor(int64) string { return "" }

// checkLimits finds nothing: the limits of other systems are not known here.
func checkLimits(context.Context, *Subject, *client.REST) []Finding { return nil }

const timeMark = ""

// adrift knows nothing of time servers here.
func adrift(string) bool { return false }

// ownerOf knows no owners here.
func ownerOf(string) (user int, known bool) { return 0, false }

// lockHolder and portHolder know no processes here.
func lockHolder(_, _ string) string { return "" }
func portHolder(_, _ string) string { return "" }
