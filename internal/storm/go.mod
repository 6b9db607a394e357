module github.com/capstan-dev/capstan/internal/storm

go 1.26.8

require (
	github.com/anishathalye/porcupine v1.3.1
	github.com/capstan-dev/capstan v0.0.0
)

require github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3 // indirect

replace github.com/capstan-dev/capstan => ../..
