//go:build !linux

package command

// dropProgram does nothing: other systems than Linux take unused pages of a program themselves.
func dropProgram() {}
