package main

import (
	"errors"
	"testing"

	"github.com/capstan-dev/capstan/client"

	fleetv1beta1 "fleet.example.com/gen/fleet/v1beta1"
)

// TestActions calls all forms of actions by the client of Go.
func TestActions(t *testing.T) {
	c := start(t).FleetV1beta1()
	truck := &fleetv1beta1.Truck{Spec: fleetv1beta1.TruckSpec{Size: 3}}
	truck.Metadata.Name = "a"
	truck, err := c.Trucks("default").Create(t.Context(), truck, client.WriteOptions{})
	if err != nil {
		t.Fatal(err)
	}
	job := &fleetv1beta1.Assignment{Job: "sand"}
	var refused *client.Error
	if _, err := c.Assignments("default").Call(t.Context(), job, client.WriteOptions{}); !errors.As(err, &refused) || refused.Code != 409 {
		t.Errorf("without a truck that is ready: %v", err)
	}
	if _, err := c.Assignments("").Call(t.Context(), job, client.WriteOptions{}); err == nil {
		t.Error("an action without a namespace was called")
	}
	truck.Status.Ready = true
	if _, err := c.Trucks("default").UpdateStatus(t.Context(), truck, client.WriteOptions{}); err != nil {
		t.Fatal(err)
	}
	if given, err := c.Assignments("default").Call(t.Context(), job, client.WriteOptions{}); err != nil || given.Metadata.Labels["job"] != "sand" || given.Status.Ready {
		t.Errorf("%+v %v", given, err)
	}
	count, seen := int32(4), []int32{}
	for position, err := range c.TruckFollow("default").Call(t.Context(), "a", &fleetv1beta1.TruckFollow{Count: &count}, client.StreamOptions{}) {
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, *position.At)
	}
	if len(seen) != 4 || seen[0] != 3 || seen[3] != 6 {
		t.Errorf("seen are %v", seen)
	}
	for _, err := range c.TruckFollow("default").Call(t.Context(), "nosuch", &fleetv1beta1.TruckFollow{}, client.StreamOptions{}) {
		if !errors.As(err, &refused) || refused.Code != 404 {
			t.Errorf("a missing truck: %v", err)
		}
	}
	n := 0
	for _, err := range c.TruckTail("default").Call(t.Context(), "a", client.StreamOptions{}) {
		if n++; err != nil {
			t.Fatal(err)
		}
		if n == 3 {
			break
		}
	}
	for _, err := range c.TruckTail("default").Call(t.Context(), "a", client.StreamOptions{TimeoutSeconds: 1}) {
		if n++; err != nil {
			t.Fatal(err)
		}
	}
	if n < 5 {
		t.Errorf("%d positions", n)
	}
}
