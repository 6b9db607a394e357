package policy

import "github.com/capstan-dev/capstan/internal/document"

// health is the condition with the state of a component.
func health(obj document.Value) document.Value {
	for _, condition := range obj.Get("conditions").Elements() {
		if condition.Get("type").Equals("Healthy") {
			return condition
		}
	}
	return document.Value{}
}

// CellComponentStatusStatus shows whether the component is healthy.
func (Policy) CellComponentStatusStatus(obj document.Value) any {
	condition := health(obj)
	switch {
	case !condition.Exists():
		return "Unknown"
	case condition.Get("status").Equals("True"):
		return "Healthy"
	}
	return "Unhealthy"
}

// CellComponentStatusMessage is the message of the component.
func (Policy) CellComponentStatusMessage(obj document.Value) any {
	return health(obj).Get("message").Text()
}

// CellComponentStatusError is the reason why the state is unknown.
func (Policy) CellComponentStatusError(obj document.Value) any {
	return health(obj).Get("error").Text()
}
