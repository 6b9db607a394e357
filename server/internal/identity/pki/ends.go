package pki

import "time"

// Ends are the ends of the certificates in use, by their purpose: of several for one purpose the
// first. Purposes without a certificate are left out.
func (k *Keyring) Ends() map[string]time.Time {
	cr := k.credentials.Load()
	texts := map[string][][]byte{
		"serving":           {cr.Cert},
		"own-authority":     {cr.OwnCA},
		"administrator":     {cr.AdminCert},
		"clients":           {cr.ClientCAs},
		"proxies":           {cr.ProxyCAs},
		"extension-servers": {cr.FrontCert},
		"nodes":             {cr.AgentCert},
		"node-authorities":  {cr.AgentCAs},
	}
	for _, n := range cr.Named {
		texts["serving-names"] = append(texts["serving-names"], n.Cert)
	}
	ends := map[string]time.Time{}
	for purpose, list := range texts {
		for _, text := range list {
			certs, err := parseAuthorities(purpose, text)
			if err != nil {
				continue // none: those in use were parsed before
			}
			for _, c := range certs {
				if first, ok := ends[purpose]; !ok || c.NotAfter.Before(first) {
					ends[purpose] = c.NotAfter
				}
			}
		}
	}
	return ends
}
