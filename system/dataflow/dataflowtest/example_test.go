package dataflowtest_test

import (
	"fmt"

	"pgregory.net/rapid"

	"github.com/simrun-dev/simrun/system/dataflow"
	"github.com/simrun-dev/simrun/system/dataflow/dataflowtest"
)

func ExamplePlan() {
	plans := rapid.Custom(func(t *rapid.T) dataflow.Plan {
		return dataflowtest.Plan(t, dataflowtest.Catalog(t), 4)
	})
	decoded, err := dataflow.DecodePlan(plans.Example(7).Encode())
	fmt.Println(decoded.Equal(plans.Example(7)), err)
	// Output: true <nil>
}
