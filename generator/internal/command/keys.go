package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/capstan-dev/capstan/generator/internal/load"
	"github.com/capstan-dev/capstan/generator/internal/site"
)

func newKeys() *cobra.Command {
	var folder string
	c := &cobra.Command{
		Use: "keys [KEY]", Short: "Explain the keys of documents, or write their JSON Schemas for editors", Args: cobra.MaximumNArgs(1),
		Long: "Prints the reference of all keys of documents as Markdown, or of one key: capstan-gen keys x-cluster-one-of.\nWith --json-schema it writes the JSON Schemas of the documents for completion and diagnostics in editors: schema.json for\nschemas/, version.json for openapi/<group>/, profile.json and promises.json.\n\nThe YAML extension of VS Code and other users of yaml-language-server take them from the setting yaml.schemas,\n{\"FOLDER/schema.json\": \"schemas/*/*/*.yaml\", \"FOLDER/version.json\": \"openapi/*/*.yaml\"}, or from the first line of a document,\n# yaml-language-server: $schema=PATH/schema.json, where PATH begins at the document.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if folder == "" {
				text, err := site.Keys(append(args, "")[0])
				if err == nil {
					_, err = fmt.Fprint(cmd.OutOrStdout(), text)
				}
				return err
			}
			files, err := load.EditorSchemas()
			if err != nil {
				return err
			}
			if err := writeDocuments(folder, files, true); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s holds %d JSON Schemas.\n", folder, len(files))
			return err
		},
	}
	c.Flags().StringVar(&folder, "json-schema", "", "folder for the JSON Schemas")
	return c
}
