package scenarios

// Builtin returns the scenarios that come with simrun, sorted by name.
func Builtin() []*Scenario {
	return []*Scenario{changeCapture(), together(), computeInstance(), differential(), flows(), full(), longhaul(), owner(), rebalance(), singleReplica(), shard()}
}
