// Package schema is internal/schema as far as generated code of other modules needs it. Nothing
// else should import it: it changes with the generator.
package schema

import "github.com/capstan-dev/capstan/internal/schema"

// The types of tables and their constants.
type (
	Kind          = schema.Kind
	Presence      = schema.Presence
	ListType      = schema.ListType
	PatchStrategy = schema.PatchStrategy
	BinaryForm    = schema.BinaryForm
	Ref           = schema.Ref
	Table         = schema.Table
	Root          = schema.Root
	Type          = schema.Type
	OneOf         = schema.OneOf
	Field         = schema.Field
	More          = schema.More
	Rules         = schema.Rules
	Demand        = schema.Demand
	Test          = schema.Test
	Condition     = schema.Condition
	Demands       = schema.Demands
	Index         = schema.Index
	JSONTypes     = schema.JSONTypes
	Values        = schema.Values
	ValuesOf      = schema.ValuesOf
	Cause         = schema.Cause
)

const (
	Object                = schema.Object
	Map                   = schema.Map
	List                  = schema.List
	String                = schema.String
	Bytes                 = schema.Bytes
	Boolean               = schema.Boolean
	Integer               = schema.Integer
	Number                = schema.Number
	IntOrString           = schema.IntOrString
	Quantity              = schema.Quantity
	Time                  = schema.Time
	MicroTime             = schema.MicroTime
	Duration              = schema.Duration
	Any                   = schema.Any
	Implicit              = schema.Implicit
	Explicit              = schema.Explicit
	Always                = schema.Always
	Sent                  = schema.Sent
	ListAtomic            = schema.ListAtomic
	ListSet               = schema.ListSet
	ListMap               = schema.ListMap
	PatchMerge            = schema.PatchMerge
	PatchRetainKeys       = schema.PatchRetainKeys
	PatchReplace          = schema.PatchReplace
	PatchAtomic           = schema.PatchAtomic
	BinaryPlain           = schema.BinaryPlain
	BinaryRaw             = schema.BinaryRaw
	BinaryStringList      = schema.BinaryStringList
	BinaryObjectOrList    = schema.BinaryObjectOrList
	BinaryObjectOrBoolean = schema.BinaryObjectOrBoolean
	BinaryObjectOrStrings = schema.BinaryObjectOrStrings
	None                  = schema.None
	OuterBits             = schema.OuterBits
	MostOuter             = schema.MostOuter
	Set                   = schema.Set
	Unset                 = schema.Unset
	Filled                = schema.Filled
	Empty                 = schema.Empty
	In                    = schema.In
	NotIn                 = schema.NotIn
	Text                  = schema.Text
	Digits                = schema.Digits
	Formed                = schema.Formed
	Single                = schema.Single
	AtLeast               = schema.AtLeast
	AtMost                = schema.AtMost
	Above                 = schema.Above
	Below                 = schema.Below
	Short                 = schema.Short
	Equals                = schema.Equals
	Only                  = schema.Only
	Contains              = schema.Contains
	Lacks                 = schema.Lacks
	Same                  = schema.Same
	Grown                 = schema.Grown
	TypeInteger           = schema.TypeInteger
	TypeNumber            = schema.TypeNumber
	TypeString            = schema.TypeString
	TypeBoolean           = schema.TypeBoolean
	TypeArray             = schema.TypeArray
	TypeObject            = schema.TypeObject
)
