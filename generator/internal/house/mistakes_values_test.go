package house

// captain is a field of the harbour, after which other fields are put.
const captain = "        description: Who decides.\n        type: string\n        maxLength: 80\n"

// field is captain and one more field.
func field(text string) string {
	return captain + "      more:\n        description: Words about more.\n" + text
}

// The mistakes in the values that fields can have.
var mistakesOfValues = []mistake{
	{"required and readOnly", ship, "        description: Name of the harbour.\n", "        description: Name of the harbour.\n        readOnly: true\n", "", "required-read-only"},
	{"a pattern against a length", ship, captain, field("        type: string\n        pattern: ^[a-z]{5,}$\n        maxLength: 4\n"), field("        type: string\n        pattern: ^[a-z]{5,}$\n        maxLength: 5\n"), "no-value"},
	{"two patterns", ship, captain, field("        type: string\n        allOf: [{pattern: ^a}, {pattern: ^b}]\n"), field("        type: string\n        allOf: [{pattern: ^a}, {pattern: b$}]\n"), "no-value"},
	{"a format against a pattern", ship, captain, field("        type: string\n        x-cluster-format: dns1123-label\n        pattern: ^[A-Z]+$\n"), field("        type: string\n        x-cluster-format: dns1123-label\n        pattern: ^[a-z]+$\n"), "no-value"},
	{"a format against a length", ship, captain, field("        type: string\n        format: uuid\n        maxLength: 30\n"), field("        type: string\n        format: uuid\n        maxLength: 36\n"), "no-value"},
	{"bounds in allOf", ship, "        maximum: 90\n", "        allOf: [{minimum: 9}, {maximum: 8}]\n", "        allOf: [{minimum: 9}, {maximum: 10}]\n", "no-number"},
	{"a multiple beyond the maximum", ship, "        multipleOf: 2\n", "        multipleOf: 20\n        maximum: 10\n", "        multipleOf: 20\n        maximum: 40\n", "no-number"},
	{"no whole number between", ship, "        minimum: 1\n        maximum: 90\n", "        exclusiveMinimum: 4\n        exclusiveMaximum: 5\n", "        exclusiveMinimum: 4\n        exclusiveMaximum: 6\n", "no-number"},
	{"two multiples", ship, "        multipleOf: 2\n", "        multipleOf: 4\n        maximum: 11\n        allOf: [{multipleOf: 6}]\n", "        multipleOf: 4\n        maximum: 12\n        allOf: [{multipleOf: 6}]\n", "no-value"},
	{"not of everything", ship, captain, field("        type: string\n        maxLength: 9\n        not: {maxLength: 10}\n"), field("        type: string\n        maxLength: 11\n        not: {maxLength: 1}\n"), "no-value"},
	{"a not that refuses nothing", ship, captain, field("        type: string\n        maxLength: 9\n        not: {minLength: 10}\n"), field("        type: string\n        maxLength: 9\n        not: {minLength: 9}\n"), "schema-idle"},
	{"a part of allOf that refuses nothing", ship, "        maximum: 90\n", "        maximum: 90\n        allOf: [{maximum: 100}]\n", "        maximum: 90\n        allOf: [{multipleOf: 3}]\n", "schema-idle"},
	{"an if that is never so", ship, "        maximum: 90\n", "        maximum: 90\n        if: {minimum: 91}\n        then: {multipleOf: 2}\n", "        maximum: 90\n        if: {minimum: 90}\n        then: {multipleOf: 2}\n", "schema-dead"},
	{"an if that is always so", ship, "        maximum: 90\n", "        maximum: 90\n        if: {maximum: 91}\n        then: {multipleOf: 2}\n", "", "schema-idle"},
	{"a branch twice", ship, "        - {pattern: \"^[a-z]\"}\n", "        - {pattern: \"^#\"}\n", "", "branch-twice"},
	{"a branch that has another one", ship, "        - {pattern: \"^[a-z]\"}\n", "        - {pattern: \"^[#a-z]\"}\n", "", "schema-dead"},
	{"a branch of all numbers", ship, "        maximum: 90\n", "        maximum: 90\n        oneOf: [{minimum: 1}, {minimum: 50}]\n", "        maximum: 90\n        oneOf: [{maximum: 49}, {minimum: 50}]\n", "schema-dead"},
	{"a branch of nothing", ship, "        maximum: 90\n", "        maximum: 90\n        anyOf: [{maximum: 10}, {minimum: 91}]\n", "        maximum: 90\n        anyOf: [{maximum: 10}, {minimum: 20}]\n", "schema-dead"},
	{"an alternative that another one has", ship, "        maximum: 90\n", "        maximum: 90\n        anyOf: [{maximum: 10}, {maximum: 20}]\n", "", "schema-idle"},
	{"a value too long for the enum", ship, "        enum: [Moored, Sailing, Sunk]\n", "        enum: [Moored, Sailing, Sunk]\n        maxLength: 6\n", "        enum: [Moored, Sailing, Sunk]\n        maxLength: 7\n", "enum-refused"},
	{"a value against the pattern", ship, "        enum: [Moored, Sailing, Sunk]\n", "        enum: [Moored, Sailing, Sunk]\n        pattern: ^[MS].*d?g?$\n        allOf: [{pattern: ^M}]\n", "", "enum-refused"},
	{"required members that exclude each other", ship, "    required: [crate]\n", "    required: [crate]\n    not: {required: [crate]}\n", "    required: [crate]\n    not: {required: [rows]}\n", "no-value"},
	{"more required members than may be there", ship, "    required: [crate]\n", "    required: [crate, rows]\n    maxProperties: 1\n", "    required: [crate, rows]\n    maxProperties: 2\n", "no-value"},
	{"a default below the minimum", ship, "        maximum: 90\n", "        maximum: 90\n        default: 0\n", "        maximum: 90\n        examples: [1]\n", "does not fit"},
	{"a default that is no value", ship, "        default: Moored\n", "        default: moored\n", "        default: Sunk\n", "does not fit"},
	{"an example that is wrong", ship, captain, field("        type: string\n        maxLength: 3\n        examples: [long]\n"), field("        type: string\n        maxLength: 4\n        examples: [long]\n"), "does not fit"},
	{"a constant of another type", ship, captain, field("        type: string\n        const: 5\n"), field("        type: string\n        const: five\n"), "no value can be 5"},
	{"contains that no element is", ship, captain, field("        type: array\n        items: {type: string, maxLength: 3}\n        contains: {minLength: 4}\n"), field("        type: array\n        items: {type: string, maxLength: 4}\n        contains: {minLength: 4}\n"), "no-value"},
	{"more to contain than may be there", ship, captain, field("        type: array\n        maxItems: 2\n        items: {type: string}\n        contains: {pattern: ^a}\n        minContains: 3\n"), field("        type: array\n        maxItems: 3\n        items: {type: string}\n        contains: {pattern: ^a}\n        minContains: 3\n"), "no-value"},
	{"names that no map has", ship, captain, field("        type: object\n        minProperties: 1\n        propertyNames: {pattern: ^a, maxLength: 0}\n        additionalProperties: {type: string}\n"), field("        type: object\n        minProperties: 1\n        propertyNames: {pattern: ^a, maxLength: 1}\n        additionalProperties: {type: string}\n"), "no-value"},
	{"minimum above maximum", ship, "        minimum: 1\n        maximum: 90\n", "        minimum: 91\n        maximum: 90\n", "        minimum: 90\n        maximum: 90\n", "is above"},
	{"a bound of a text", ship, captain, field("        type: string\n        minimum: 3\n"), field("        type: string\n        minLength: 3\n"), "minimum"},
	{"a pattern that does not compile", ship, captain, field("        type: string\n        pattern: ^(a$\n"), field("        type: string\n        pattern: ^(a)$\n"), "pattern"},
	{"null in no list of values", ship, captain, field("        type: [string, \"null\"]\n        enum: [Aye]\n"), "", "null"},
	{"a zero that is lost", ship, "        format: int32\n        minimum: 1\n        maximum: 90\n", "        format: int32\n        minimum: 0\n        maximum: 90\n", "        format: int32\n        minimum: 0\n        maximum: 90\n        x-cluster-presence: explicit\n", "optional-zero"},
	{"a number with a fraction", ship, captain, field("        type: number\n"), field("        format: quantity\n"), "float"},
	{"negative numbers", ship, captain, field("        type: integer\n        default: 3\n"), field("        type: integer\n        minimum: 1\n        default: 3\n"), "bounds"},
	{"a port without bounds", ship, captain, field("        type: string\n      dataPort:\n        description: Words about it.\n        type: integer\n        minimum: 1\n"), field("        type: string\n      dataPort:\n        description: Words about it.\n        type: integer\n        minimum: 1\n        maximum: 65535\n"), "bounds"},
	{"a percentage without bounds", ship, captain, field("        type: string\n      loadPercent:\n        description: Words about it.\n        type: integer\n        minimum: 1\n"), field("        type: string\n      loadPercent:\n        description: Words about it.\n        type: integer\n        minimum: 1\n        maximum: 100\n"), "bounds"},
	{"an address without a format", ship, captain, field("        type: string\n      logURL:\n        description: Words about it.\n        type: string\n"), field("        type: string\n      logURL:\n        description: Words about it.\n        type: string\n        format: uri\n"), "text-format"},
	{"a time as any text", ship, captain, field("        type: string\n      launchedAt:\n        description: Words about it.\n        type: string\n"), field("        type: string\n      launchedAt:\n        description: Words about it.\n        format: date-time\n"), "text-format"},
	{"a list without keys", ship, "        x-cluster-list-type: map\n        x-cluster-list-map-keys: [name]\n", "", "        x-cluster-list-type: atomic\n", "list-type"},
	{"a duration without a unit", ship, captain, field("        type: string\n      timeout:\n        description: Words about it.\n        type: integer\n        minimum: 1\n"), field("        type: string\n      timeoutSeconds:\n        description: Words about it.\n        type: integer\n        minimum: 1\n"), "unit"},
}
