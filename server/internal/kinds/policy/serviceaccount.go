package policy

import "github.com/capstan-dev/capstan/internal/document"

// CreateServiceAccount keeps the names of secrets only.
func (Policy) CreateServiceAccount(obj document.Value) { nameSecrets(obj) }

// UpdateServiceAccount keeps the names of secrets only.
func (Policy) UpdateServiceAccount(obj, _ document.Value) { nameSecrets(obj) }

// nameSecrets drops all but the names of an account's secrets: they are in its
// own namespace.
func nameSecrets(obj document.Value) {
	for _, secret := range obj.Get("secrets").Elements() {
		for name := range secret.Members() {
			if name != "name" {
				secret.Remove(name)
			}
		}
	}
}
