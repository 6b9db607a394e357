package conversion

// behavior is the speed limits of autoscaling/v2 in JSON; internalBehavior is the form of
// v1's annotation, whose members begin with capitals and are always present.
type behavior struct {
	ScaleUp   *rules `json:"scaleUp,omitempty"`
	ScaleDown *rules `json:"scaleDown,omitempty"`
}

type rules struct {
	StabilizationWindowSeconds *int32   `json:"stabilizationWindowSeconds,omitempty"`
	SelectPolicy               *string  `json:"selectPolicy,omitempty"`
	Policies                   []policy `json:"policies,omitempty"`
	Tolerance                  *string  `json:"tolerance,omitempty"` // of later releases
}

type policy struct {
	Type          string `json:"type"`
	Value         int32  `json:"value"`
	PeriodSeconds int32  `json:"periodSeconds"`
}

type internalBehavior struct{ ScaleUp, ScaleDown *internalRules }

type internalRules struct {
	StabilizationWindowSeconds *int32
	SelectPolicy               *string
	Policies                   []internalPolicy
	Tolerance                  *string `json:",omitempty"`
}

type internalPolicy struct {
	Type                 string
	Value, PeriodSeconds int32
}

func (r *rules) internal() *internalRules {
	if r == nil {
		return nil
	}
	out := &internalRules{StabilizationWindowSeconds: r.StabilizationWindowSeconds, SelectPolicy: r.SelectPolicy, Tolerance: r.Tolerance}
	for _, p := range r.Policies {
		out.Policies = append(out.Policies, internalPolicy(p))
	}
	return out
}

func (r *internalRules) rules() *rules {
	if r == nil {
		return nil
	}
	out := &rules{StabilizationWindowSeconds: r.StabilizationWindowSeconds, SelectPolicy: r.SelectPolicy, Tolerance: r.Tolerance}
	for _, p := range r.Policies {
		out.Policies = append(out.Policies, policy(p))
	}
	return out
}
