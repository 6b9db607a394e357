// Package action is for operations that are not verbs: a document declares one below an object, or as a resource without
// storage, and a method of the module's hooks performs it.
//
//	subresources:
//	  restart:
//	    schema: WidgetRestart
//	    action: {effect: writes, answer: Widget, description: Starts the widget anew.}
//
// The server has checked the right of the user ("create" of widgets/restart, or the verb that the action names), the body against its schema, and
// admission before the method runs. What the method changes goes the way of every write: the rules of the
// documents, admission, quotas, dry run and the record of who owns which field. Each answer is checked against
// its schema.
package action
