package background

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/capstan-dev/capstan/internal/document"
)

// extensionConfig is the config map of kube-system from which extension servers learn
// this server's trusted authorities.
const extensionConfig = "extension-apiserver-authentication"

// KeepExtensionConfig creates the config map for extension servers and keeps its own
// keys. Other keys stay.
func (c *Controllers) KeepExtensionConfig(ctx context.Context) error {
	data, err := c.extensionData()
	if err != nil {
		return err
	}
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"name": extensionConfig}, "data": data})
	if err != nil {
		return err
	}
	err = c.keep(ctx, c.catalog.Snapshot().Core("configmaps"), "kube-system", extensionConfig, string(text), func(have, want document.Value) {
		for key, v := range want.Get("data").Members() {
			have.SetObject("data").Put(key, v)
		}
	})
	if err != nil {
		return fmt.Errorf("config map %s: %w", extensionConfig, err)
	}
	return nil
}

// extensionData is the content of the config map: the authorities of clients and, when
// there are any, those of proxies with the headers that these may set.
func (c *Controllers) extensionData() (map[string]string, error) {
	data := map[string]string{"client-ca-file": string(c.keys.Credentials().ClientCAs)}
	authorities, headers := c.keys.ExtensionTrust()
	if len(authorities) == 0 {
		return data, nil
	}
	data["requestheader-client-ca-file"] = string(authorities)
	for key, list := range map[string][]string{
		"requestheader-allowed-names":        headers.AllowedNames,
		"requestheader-username-headers":     headers.User,
		"requestheader-group-headers":        headers.Group,
		"requestheader-extra-headers-prefix": headers.Extra,
	} {
		if list == nil {
			list = []string{}
		}
		text, err := json.Marshal(list)
		if err != nil {
			return nil, err
		}
		data[key] = string(text)
	}
	return data, nil
}
