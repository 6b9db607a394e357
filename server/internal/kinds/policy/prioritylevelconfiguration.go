package policy

import (
	"fmt"
	"math"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// maxHandBits bounds the random bits for dealing a hand of queues: a hash of a flow has
// 64, and a few have to be left over to be fair.
const maxHandBits = 60

// fixedPriorityLevels are the fixed specs of the levels with these names.
var fixedPriorityLevels = map[string]string{
	"exempt":    `{"type":"Exempt"}`,
	"catch-all": `{"type":"Limited","limited":{"assuredConcurrencyShares":5,"limitResponse":{"type":"Reject"}}}`,
}

// fixedNominalLevels are those of the versions that have nominal shares.
var fixedNominalLevels = map[string]string{
	"exempt":    `{"type":"Exempt"}`,
	"catch-all": `{"type":"Limited","limited":{"nominalConcurrencyShares":5,"limitResponse":{"type":"Reject"},"lendablePercent":0}}`,
}

// ValidatePriorityLevelConfiguration checks the limits of a level.
func (Policy) ValidatePriorityLevelConfiguration(obj, _ document.Value) []schema.Cause {
	var c causes
	name, spec := obj.At("metadata", "name").Text(), obj.Get("spec")
	c.handSize(spec.At("limited", "limitResponse"))
	switch exempt := spec.Get("exempt"); {
	case exempt.Exists() && spec.Get("type").Equals("Limited"):
		c.Forbidden(exempt.Path(), "must be nil if the type is Limited")
	case exempt.Exists() && spec.Get("type").Equals("Exempt"): // its users' choice
	case spec.At("limited", "nominalConcurrencyShares").Exists():
		c.fixedSpec(name, spec, fixedNominalLevels)
	default:
		c.fixedSpec(name, spec, fixedPriorityLevels)
	}
	return c.Causes
}

// handSize refuses hands of more cards than there are, and those that need more random
// bits than there are.
func (c *causes) handSize(response document.Value) {
	queuing := response.Get("queuing")
	hand := queuing.Get("handSize")
	cards, _ := hand.Int()
	queues, _ := queuing.Get("queues").Int()
	if cards < 1 || !response.Get("type").Equals("Queue") {
		return // reported by the schema
	}
	if cards > queues {
		c.Invalid(hand, fmt.Sprintf("should not be greater than queues (%d)", queues))
	} else if math.Ceil(float64(cards)*math.Log2(float64(queues))) > maxHandBits {
		c.Invalid(hand, fmt.Sprintf("required entropy bits of deckSize %d and handSize %d should not be greater than %d", queues, cards, maxHandBits))
	}
}
