package server

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/capstan-dev/capstan/internal/document"
)

// extensionConfig is the config map of kube-system by which extension servers
// learn whom this server trusts.
const extensionConfig = "extension-apiserver-authentication"

// keepExtensionConfig brings the config map for extension servers into existence and
// gives it what it has to say. What else is in it stays.
func (s *Server) keepExtensionConfig(ctx context.Context) error {
	data, err := s.extensionData()
	if err != nil {
		return err
	}
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"name": extensionConfig}, "data": data})
	if err != nil {
		return err
	}
	err = s.keep(ctx, s.catalog.Snapshot().Core("configmaps"), "kube-system", extensionConfig, string(text), func(have, want document.Value) {
		for key, v := range want.Get("data").Members() {
			have.SetObject("data").Put(key, v)
		}
	})
	if err != nil {
		return fmt.Errorf("config map %s: %w", extensionConfig, err)
	}
	return nil
}

// extensionData is what the config map says: the authorities of clients and, when
// there are any, those of proxies with the headers that these may set.
func (s *Server) extensionData() (map[string]string, error) {
	data := map[string]string{"client-ca-file": string(s.keys.Credentials().ClientCAs)}
	if len(s.keys.Credentials().ProxyCAs) == 0 {
		return data, nil
	}
	data["requestheader-client-ca-file"] = string(s.keys.Credentials().ProxyCAs)
	for key, list := range map[string][]string{
		"requestheader-allowed-names":        s.cfg.RequestHeaderAllowedNames,
		"requestheader-username-headers":     s.cfg.RequestHeaderUsernameHeaders,
		"requestheader-group-headers":        s.cfg.RequestHeaderGroupHeaders,
		"requestheader-extra-headers-prefix": s.cfg.RequestHeaderExtraHeadersPrefix,
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
