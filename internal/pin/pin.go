//go:build pin

// Package pin keeps modules in go.mod while their users are being written.
package pin

import (
	_ "github.com/cockroachdb/datadriven"
	_ "github.com/cockroachdb/pebble/v2"
	_ "github.com/evanphx/json-patch/v5"
	_ "github.com/getkin/kin-openapi/openapi3"
	_ "github.com/go-json-experiment/json/jsontext"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/google/uuid"
	_ "github.com/labstack/echo/v4"
	_ "github.com/oapi-codegen/oapi-codegen/v2/pkg/codegen"
	_ "github.com/santhosh-tekuri/jsonschema/v5"
	_ "github.com/spf13/cobra"
	_ "go.yaml.in/yaml/v3"
	_ "golang.org/x/net/http2"
	_ "k8s.io/apimachinery/pkg/api/resource"
	_ "k8s.io/apimachinery/pkg/labels"
	_ "k8s.io/apimachinery/pkg/util/strategicpatch"
	_ "k8s.io/apimachinery/pkg/util/validation"
	_ "pgregory.net/rapid"
	_ "sigs.k8s.io/structured-merge-diff/v6/typed"
	_ "sigs.k8s.io/yaml"
)
