// Package document holds API objects as trees that are cheap to read, change
// and write, for built-in and custom types alike.
//
// A Document is an arena of small nodes over the bytes it was read from. Its types come
// from a schema.Table; there is no Go struct per type. There are three ways in:
//
//	Decoder.Decode  strict: a request's body; checked, pruned, defaulted
//	DecodeAny       strict syntax, no type: patches, raw extensions
//	ReadStored      trusted: bytes that AppendJSON wrote before, which become a
//	                tree on demand
//
// and one way out, Value.AppendJSON, which writes the canonical form: known fields in
// schema order, keys of maps sorted, no white space, the shortest escapes, one spelling
// of quantities, times and numbers. Equal objects are equal bytes.
//
// The scanner is our own because it was measured: Decode of a pod, with its tree, checks
// and defaults, takes about as long as jsontext takes for the tokens alone
// (BenchmarkDecode, BenchmarkTokens). Decoder.DecodeOver does not walk the parts that an
// update shares with the stored object.
//
// # Decisions
//
// A value that is an object or something else (in schemas of custom resources: items,
// additionalProperties) is an Any that has a type for its objects. It is typed when it is decoded
// and in the binary form, and any JSON everywhere else, as it is for the clients of 1.25.
package document
