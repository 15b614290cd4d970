package compute

import "context"

var background = context.Background()
