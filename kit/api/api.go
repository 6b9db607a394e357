// Package api is internal/api as far as generated code of other modules needs it. Nothing
// else should import it: it changes with the generator.
package api

import "github.com/capstan-dev/capstan/internal/api"

// The types of catalog rows and their constants.
type (
	API           = api.API
	CellFunc      = api.CellFunc
	Check         = api.Check
	Checking      = api.Checking
	Column        = api.Column
	Conversion    = api.Conversion
	Converter     = api.Converter
	Copy          = api.Copy
	Deletion      = api.Deletion
	Dependents    = api.Dependents
	Deprecation   = api.Deprecation
	Document      = api.Document
	Documents     = api.Documents
	Edition       = api.Edition
	Endpoint      = api.Endpoint
	FieldError    = api.FieldError
	Grace         = api.Grace
	GroupResource = api.GroupResource
	GroupVersion  = api.GroupVersion
	Hooks         = api.Hooks
	Packed        = api.Packed
	Plan          = api.Plan
	ReadKind      = api.ReadKind
	Reference     = api.Reference
	Relations     = api.Relations
	Release       = api.Release
	Resource      = api.Resource
	Role          = api.Role
	ScalePaths    = api.ScalePaths
	Selectable    = api.Selectable
	Subresource   = api.Subresource
	Verbs         = api.Verbs
	View          = api.View
	Writing       = api.Writing
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
