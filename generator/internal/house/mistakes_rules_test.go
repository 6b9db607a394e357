package house

const sailing = "    - {if: {state: [Sailing]}, then: {captain: filled}}\n"

// The mistakes in rules across members.
var mistakesOfRules = []mistake{
	{"a condition outside of the enum", ship, sailing, "    - {if: {state: [Sails]}, then: {captain: filled}}\n", "", "rule-value"},
	{"a demand outside of the enum", ship, sailing, "    - {if: {captain: filled}, then: {state: [sailing]}, why: captains sail}\n", "    - {if: {captain: filled}, then: {state: [Sailing]}, why: captains sail}\n", "rule-value"},
	{"a refusal outside of the enum", ship, sailing, "    - {if: {captain: filled}, then: {state: {not: [Drowned]}}, why: captains do not drown}\n", "    - {if: {captain: filled}, then: {state: {not: [Sunk]}}, why: captains do not drown}\n", "rule-value"},
	{"an expression outside of the enum", ship, sailing, "    - {finds: 'self.state == \"Sails\" && !has(self.captain) ? \"who decides?\" : \"\"'}\n", "    - {finds: 'self.state == \"Sailing\" && !has(self.captain) ? \"who decides?\" : \"\"'}\n", "rule-value"},
	{"a list of values outside of the enum", ship, sailing, "    - {finds: 'self.state in [\"Sailing\", \"Flying\"] && !has(self.captain) ? \"who decides?\" : \"\"'}\n", "    - {finds: 'self.state in [\"Sailing\", \"Sunk\"] && !has(self.captain) ? \"who decides?\" : \"\"'}\n", "rule-value"},
	{"an element against its pattern", ship, sailing, "    - {finds: 'self.crates.exists(c, c.name == \"the one with the very long name\") ? \"no such crate\" : \"\"'}\n", "    - {finds: 'self.crates.exists(c, c.name == \"gold\") ? \"no such crate\" : \"\"'}\n", "rule-value"},
	{"a rule that is always true", ship, sailing, "    - {finds: 'self.least < 0 ? \"too few\" : \"\"'}\n", "    - {finds: 'self.least > 3 ? \"too many\" : \"\"'}\n", "rule-idle"},
	{"a bound beyond the maximum", ship, sailing, "    - {if: {berth: set}, then: {berth: {most: 90}}, why: there are 90 berths}\n", "    - {if: {berth: set}, then: {berth: {most: 80}}, why: there are 80 berths}\n", "rule-idle"},
	{"a demand for a required member", ship, sailing, "    - {then: {homePort: filled}}\n", "    - {then: {captain: filled}}\n", "rule-idle"},
	{"both sides the same", ship, sailing, "    - {finds: 'self.least >= 2 ? \"\" : \"\"'}\n", "    - {finds: 'self.least >= 2 ? \"\" : \"too few\"'}\n", "rule-idle"},
	{"rules that contradict", ship, sailing, "    - {then: {captain: filled}}\n    - {then: {captain: unset}, why: nobody decides}\n", "    - {if: {state: [Sailing]}, then: {captain: filled}}\n    - {if: {state: [Sunk]}, then: {captain: unset}, why: nobody decides}\n", "rule-contradiction"},
	{"expressions that contradict", ship, sailing, "    - {finds: 'self.least > 5 ? \"\" : \"too few\"'}\n    - {finds: 'self.least < 5 ? \"\" : \"too many\"'}\n", "    - {finds: 'self.least > 5 ? \"\" : \"too few\"'}\n    - {finds: 'self.least < 9 ? \"\" : \"too many\"'}\n", "rule-contradiction"},
	{"a rule that refuses everything", ship, sailing, "    - {finds: 'self.berth <= 90 ? \"no berth\" : \"\"'}\n", "    - {finds: 'self.berth <= 9 ? \"no berth\" : \"\"'}\n", "rule-contradiction"},
	{"a mistake without words", ship, sailing, "    - {finds: 'self.least > 4 ? [\"\"] : []'}\n", "    - {finds: 'self.least > 4 ? [\"too many\"] : []'}\n", "rule-message"},
	{"a mistake with a place only", ship, sailing, "    - {finds: 'self.least > 4 ? [{\"at\": \"least\"}] : []'}\n", "    - {finds: 'self.least > 4 ? [{\"at\": \"least\", \"why\": \"too many\"}] : []'}\n", "rule-message"},
	{"no words at all", ship, sailing, "    - {if: {state: [Sunk]}, then: {berth: unset}, why: \"\"}\n", "    - {if: {state: [Sunk]}, then: {berth: unset}, why: it has left it}\n", "; "},
	{"a place that is no member", ship, sailing, "    - {if: {state: [Sunk]}, then: {berth: unset}, at: birth, why: it has left it}\n", "    - {if: {state: [Sunk]}, then: {berth: unset}, at: state, why: it has left it}\n", "rule-at"},
	{"a place in an expression that is no member", ship, sailing, "    - {finds: 'self.least > 4 ? [{\"at\": \"fewest\", \"why\": \"too many\"}] : []'}\n", "    - {finds: 'self.least > 4 ? [{\"at\": \"most\", \"why\": \"too many\"}] : []'}\n", "rule-at"},
	{"a place that is made", ship, sailing, "    - {finds: 'self.least > 4 ? [{\"at\": \"crates[\" + string(0) + \"].title\", \"why\": \"too many\"}] : []'}\n", "    - {finds: 'self.least > 4 ? [{\"at\": \"crates[\" + string(0) + \"].name\", \"why\": \"too many\"}] : []'}\n", "rule-at"},
	{"loops over lists without bounds", ship, "        maxItems: 50\n        items: {$ref: \"#/$defs/Place\"}\n", "        items: {$ref: \"#/$defs/Place\"}\n", "        maxItems: 60\n        items: {$ref: \"#/$defs/Place\"}\n", "rule-cost"},
	{"loops over long lists", ship, "        maxItems: 50\n        items: {$ref: \"#/$defs/Place\"}\n", "        maxItems: 5000\n        items: {$ref: \"#/$defs/Place\"}\n", "", "rule-cost"},
	{"three loops", ship, sailing, "    - {finds: 'self.hold.exists(a, self.hold.exists(b, self.hold.exists(c, a.rows == b.rows + c.rows))) ? \"sums\" : \"\"'}\n", "", "3 loops"},
	{"an expression that does not compile", ship, sailing, "    - {finds: 'self.leest > 4 ? \"too many\" : \"\"'}\n", "", "undefined field"},
	{"an expression of a number", ship, sailing, "    - {finds: 'self.least'}\n", "", "finds nothing"},
	{"a condition in place of a message", ship, sailing, "    - {finds: 'self.least < 4'}\n", "    - {finds: 'self.least < 4 ? \"\" : \"too many\"'}\n", "finds nothing"},
	{"a rule about nothing", ship, sailing, "    - {if: {stat: [Sailing]}, then: {captain: filled}}\n", "", "leads nowhere"},
	{"a rule without a reason", ship, sailing, "    - {if: {state: [Sunk]}, then: {berth: unset}}\n", "", "does not say what is wrong"},
	{"a rule without a demand", ship, sailing, "    - {if: {state: [Sunk]}}\n", "", "demands nothing"},
	{"a rule with a condition that is unknown", ship, sailing, "    - {if: {state: present}, then: {captain: filled}}\n", "    - {if: {state: set}, then: {captain: filled}}\n", "present"},
}
