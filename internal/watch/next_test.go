package watch

import "context"

// Next waits for the next events.
func (c *Cursor) Next(ctx context.Context) ([]*Event, error) {
	for {
		events, wake, err := c.Poll(ctx)
		if err != nil || len(events) > 0 {
			return events, err
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
