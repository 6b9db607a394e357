// Package api is internal/api as far as generated code of other modules needs it. Nothing
// else should import it: it changes with the generator.
package api

import "github.com/capstan-dev/capstan/internal/api"

// The types of catalog rows and their constants.
type (
	Verbs         = api.Verbs
	GroupVersion  = api.GroupVersion
	Resource      = api.Resource
	Column        = api.Column
	CellFunc      = api.CellFunc
	Selectable    = api.Selectable
	Subresource   = api.Subresource
	ScalePaths    = api.ScalePaths
	Deprecation   = api.Deprecation
	Hooks         = api.Hooks
	Role          = api.Role
	Dependents    = api.Dependents
	Grace         = api.Grace
	Check         = api.Check
	Writing       = api.Writing
	Checking      = api.Checking
	Deletion      = api.Deletion
	Conversion    = api.Conversion
	Converter     = api.Converter
	Plan          = api.Plan
	Copy          = api.Copy
	API           = api.API
	Documents     = api.Documents
	Document      = api.Document
	Packed        = api.Packed
	Endpoint      = api.Endpoint
	FieldError    = api.FieldError
	GroupResource = api.GroupResource
	Relations     = api.Relations
	Release       = api.Release
	ReadKind      = api.ReadKind
	Reference     = api.Reference
	Edition       = api.Edition
)

const (
	VerbCreate                  = api.VerbCreate
	VerbDelete                  = api.VerbDelete
	VerbDeleteCollection        = api.VerbDeleteCollection
	VerbGet                     = api.VerbGet
	VerbList                    = api.VerbList
	VerbPatch                   = api.VerbPatch
	VerbUpdate                  = api.VerbUpdate
	VerbWatch                   = api.VerbWatch
	RoleNamespaces              = api.RoleNamespaces
	RoleDefinitions             = api.RoleDefinitions
	RoleSigningRequests         = api.RoleSigningRequests
	DependentsOrphaned          = api.DependentsOrphaned
	DependentsNone              = api.DependentsNone
	CheckMetadata               = api.CheckMetadata
	CheckMetadataChange         = api.CheckMetadataChange
	CheckCreated                = api.CheckCreated
	CheckObject                 = api.CheckObject
	CheckChange                 = api.CheckChange
	EndpointAction              = api.EndpointAction
	EndpointApproval            = api.EndpointApproval
	EndpointBind                = api.EndpointBind
	EndpointEphemeralContainers = api.EndpointEphemeralContainers
	EndpointEvict               = api.EndpointEvict
	EndpointFinalize            = api.EndpointFinalize
	EndpointLog                 = api.EndpointLog
	EndpointPortForward         = api.EndpointPortForward
	EndpointProxyNode           = api.EndpointProxyNode
	EndpointProxyPod            = api.EndpointProxyPod
	EndpointProxyService        = api.EndpointProxyService
	EndpointRequestToken        = api.EndpointRequestToken
	EndpointResize              = api.EndpointResize
	EndpointReviewAccess        = api.EndpointReviewAccess
	EndpointReviewOwnAccess     = api.EndpointReviewOwnAccess
	EndpointReviewOwnRules      = api.EndpointReviewOwnRules
	EndpointReviewOwnUser       = api.EndpointReviewOwnUser
	EndpointReviewToken         = api.EndpointReviewToken
	EndpointRun                 = api.EndpointRun
	EndpointScale               = api.EndpointScale
	EndpointStatus              = api.EndpointStatus
)

// LinkVersions links rows to those of their storage versions, and marks preferred versions.
func LinkVersions(groups []*GroupVersion) { api.LinkVersions(groups) }

// Pack packs a published document.
func Pack(text string) Packed { return api.Pack(text) }
