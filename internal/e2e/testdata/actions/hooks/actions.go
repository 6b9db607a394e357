package hooks

import (
	"context"
	"time"

	"github.com/capstan-dev/capstan/action"

	fleetv1beta1 "fleet.example.com/gen/fleet/v1beta1"
)

// PerformAssignment gives a job to the first truck that is ready.
func (Hooks) PerformAssignment(ctx context.Context, call *action.Command, body *fleetv1beta1.Assignment) (*fleetv1beta1.Truck, error) {
	trucks := action.Of[fleetv1beta1.Truck](call, call.Namespace())
	for truck, err := range trucks.All(ctx) {
		if err != nil {
			return nil, err
		}
		if !truck.Status.Ready {
			continue
		}
		return trucks.Update(ctx, truck.Metadata.Name, func(truck *fleetv1beta1.Truck) error {
			if !truck.Status.Ready {
				return action.Conflict("truck %s was faster", truck.Metadata.Name)
			}
			truck.Status.Ready, truck.Metadata.Labels = false, map[string]string{"job": body.Job}
			return nil
		})
	}
	return nil, action.Conflict("no truck is ready")
}

// FollowTruck shows positions of a truck that begin at its size.
func (Hooks) FollowTruck(ctx context.Context, call *action.View[fleetv1beta1.Truck], body *fleetv1beta1.TruckFollow, send func(*fleetv1beta1.TruckPosition) error) error {
	truck, err := call.Object(ctx)
	if err != nil {
		return err
	}
	for i := range *body.Count {
		at := truck.Spec.Size + i
		if err := send(&fleetv1beta1.TruckPosition{At: &at}); err != nil {
			return err
		}
	}
	return nil
}

// TailTruck shows positions of a truck until nobody looks any more.
func (Hooks) TailTruck(ctx context.Context, call *action.View[fleetv1beta1.Truck], send func(*fleetv1beta1.TruckPosition) error) error {
	for at := int32(0); ; at++ {
		if err := send(&fleetv1beta1.TruckPosition{At: &at}); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(20 * time.Millisecond):
		}
	}
}
