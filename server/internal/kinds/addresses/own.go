package addresses

import (
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// OwnService is the name of the service, in the namespace default, and of its endpoints,
// by which clients inside the cluster reach the server.
const OwnService = profile.MediaTypeWord
