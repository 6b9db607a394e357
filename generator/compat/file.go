package compat

import (
	"context"
	"errors"
)

func readFile(name string) (*Surface, error) {
	return nil, errors.New(name + ": only folders can be compared")
}

func (s Source) server(_ context.Context, url string) (*Surface, error) {
	return nil, errors.New(url + ": only folders can be compared")
}
