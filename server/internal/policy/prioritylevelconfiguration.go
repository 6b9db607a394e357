package policy

import (
	"fmt"
	"math"

	"github.com/capstan-dev/capstan/internal/document"
	"github.com/capstan-dev/capstan/internal/schema"
)

// maxHandBits bounds how many random bits dealing a hand of queues may need: a
// hash of a flow has 64, and a few have to be left over to be fair.
const maxHandBits = 60

// fixedPriorityLevels are the specs that levels of these names have to have.
var fixedPriorityLevels = map[string]string{
	"exempt":    `{"type":"Exempt"}`,
	"catch-all": `{"type":"Limited","limited":{"assuredConcurrencyShares":5,"limitResponse":{"type":"Reject"}}}`,
}

// ValidatePriorityLevelConfiguration checks the limits of a level.
func (Policy) ValidatePriorityLevelConfiguration(obj, _ document.Value) []schema.Cause {
	var c causes
	name, spec := obj.At("metadata", "name").Text(), obj.Get("spec")
	typ, limited := spec.Get("type"), spec.Get("limited")
	if (name == "exempt") != typ.Equals("Exempt") {
		c.invalidAt(member(spec, "type"), typ, "type must be 'Exempt' if and only if name is 'exempt'")
	}
	c.oneOf(spec, "type", "Exempt", "Limited")
	switch {
	case typ.Equals("Exempt") && isSet(limited):
		c.forbidden(limited.Path(), "must be nil if the type is not Limited")
	case typ.Equals("Limited") && !isSet(limited):
		c.required(member(spec, "limited"), "must not be empty when type is Limited")
	case typ.Equals("Limited"):
		c.limitResponse(limited.Get("limitResponse"))
	}
	c.fixedSpec(name, spec, fixedPriorityLevels)
	c.uniqueConditions(obj.At("status", "conditions"))
	return c
}

func (c *causes) limitResponse(response document.Value) {
	c.oneOf(response, "type", "Queue", "Reject")
	typ, queuing := response.Get("type"), response.Get("queuing")
	switch {
	case typ.Equals("Reject") && isSet(queuing):
		c.forbidden(queuing.Path(), "must be nil if limited.limitResponse.type is not Limited")
	case typ.Equals("Queue") && !isSet(queuing):
		c.required(member(response, "queuing"), "must not be empty if limited.limitResponse.type is Limited")
	case typ.Equals("Queue"):
		c.handSize(queuing)
	}
}

// handSize refuses hands of more cards than there are, and those that take more
// chance to deal than there is.
func (c *causes) handSize(queuing document.Value) {
	hand := queuing.Get("handSize")
	cards, _ := hand.Int()
	queues, _ := queuing.Get("queues").Int()
	if cards < 1 {
		return // the schema says so
	}
	if cards > queues {
		c.invalid(hand, fmt.Sprintf("should not be greater than queues (%d)", queues))
	} else if math.Ceil(float64(cards)*math.Log2(float64(queues))) > maxHandBits {
		c.invalid(hand, fmt.Sprintf("required entropy bits of deckSize %d and handSize %d should not be greater than %d", queues, cards, maxHandBits))
	}
}

// levelFigure shows a number of a level, or that there is none.
func levelFigure(obj document.Value, path ...string) any {
	if n, ok := obj.At("spec", "limited").At(path...).Int(); ok {
		return n
	}
	return none
}

// CellPriorityLevelConfigurationShares shows the weight of the level.
func (Policy) CellPriorityLevelConfigurationShares(obj document.Value) any {
	return levelFigure(obj, "assuredConcurrencyShares")
}

// CellPriorityLevelConfigurationQueues shows how many queues there are.
func (Policy) CellPriorityLevelConfigurationQueues(obj document.Value) any {
	return levelFigure(obj, "limitResponse", "queuing", "queues")
}

// CellPriorityLevelConfigurationHandSize shows how many queues a flow is dealt.
func (Policy) CellPriorityLevelConfigurationHandSize(obj document.Value) any {
	return levelFigure(obj, "limitResponse", "queuing", "handSize")
}

// CellPriorityLevelConfigurationQueueLengthLimit shows how many requests may
// wait in a queue.
func (Policy) CellPriorityLevelConfigurationQueueLengthLimit(obj document.Value) any {
	return levelFigure(obj, "limitResponse", "queuing", "queueLengthLimit")
}
