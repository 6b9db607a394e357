package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/capstan-dev/capstan/internal/buildinfo"
)

// build describes this binary.
type build struct {
	Version    string `json:"version"`
	Commit     string `json:"commit,omitempty"`
	CommitTime string `json:"commitTime,omitempty"`
	Modified   bool   `json:"modified,omitempty"` // built with uncommitted changes
	Kubernetes string `json:"kubernetes"`         // the release whose API is served
	Go         string `json:"goVersion"`
	Platform   string `json:"platform"`
}

func readBuild() build {
	i := buildinfo.Read()
	return build{Version: i.Version, Commit: i.Commit, CommitTime: i.CommitTime, Modified: i.Modified, Kubernetes: "1.25", Go: i.Go, Platform: i.Platform}
}

func newVersion(name string) *cobra.Command {
	var output outputFlag
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show what this binary is",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := output.check(); err != nil {
				return err
			}
			b := readBuild()
			if output.json() {
				return writeJSON(cmd.OutOrStdout(), b)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s %s (Kubernetes API %s, %s, %s)\n", name, b.Version, b.Kubernetes, b.Go, b.Platform)
			return nil
		},
	}
	output.add(cmd.Flags(), "json, or nothing for a line of text")
	return cmd
}
