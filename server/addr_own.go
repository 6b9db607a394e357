package server

import (
	"github.com/capstan-dev/capstan/internal/gen/profile"
)

// ownService is the name of the service that clients inside reach the server by,
// in the namespace default, and of its endpoints.
const ownService = profile.MediaTypeWord
