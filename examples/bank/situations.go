package bank

import "github.com/simrun-dev/simrun/system/host"

var _ = host.Declare(
	"bank: an account is locked",
	"bank: a branch in doubt learns of a commit",
	"bank: a coordinator takes up what another life decided",
)
