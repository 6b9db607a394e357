package addresses

import (
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// OwnService is the name of the service that clients inside reach the server by,
// in the namespace default, and of its endpoints.
const OwnService = profile.MediaTypeWord
