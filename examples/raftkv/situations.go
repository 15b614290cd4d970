package raftkv

import "github.com/simrun-dev/simrun/system/host"

var _ = host.Declare(
	"raftkv: a later leader is elected",
	"raftkv: a leader is deposed",
	"raftkv: entries are overwritten",
)
