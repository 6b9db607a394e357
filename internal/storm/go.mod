module github.com/capstan-dev/capstan/internal/storm

go 1.26.8

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/capstan-dev/capstan v0.0.0
	github.com/coder/websocket v1.8.14
)

replace github.com/capstan-dev/capstan => ../..
