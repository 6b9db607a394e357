package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// build says what this binary is.
type build struct {
	Version    string `json:"version"`
	Commit     string `json:"commit,omitempty"`
	CommitTime string `json:"commitTime,omitempty"`
	Modified   bool   `json:"modified,omitempty"` // built from files that are not in the commit
	Kubernetes string `json:"kubernetes"`         // the release whose API is served
	Go         string `json:"goVersion"`
	Platform   string `json:"platform"`
}

// readBuild collects what the Go tool recorded in the binary.
func readBuild() build {
	b := build{Version: "(devel)", Kubernetes: "1.25", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.CommitTime = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

func newVersion() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show what this binary is",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			b := readBuild()
			switch output {
			case "":
				fmt.Fprintf(cmd.OutOrStdout(), "capstan %s (Kubernetes API %s, %s, %s)\n", b.Version, b.Kubernetes, b.Go, b.Platform)
				return nil
			case "json":
				text, err := json.MarshalIndent(b, "", "  ")
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s\n", text)
				return nil
			}
			return usageError{fmt.Errorf("output format %q is unknown; use json, or leave the flag out", output)}
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "json, or nothing for a line of text")
	return cmd
}
