package scenarios

// Builtin returns the scenarios that come with simrun, sorted by name.
func Builtin() []*Scenario {
	return []*Scenario{changeCapture(), differential(), full(), owner(), rebalance(), shard()}
}
