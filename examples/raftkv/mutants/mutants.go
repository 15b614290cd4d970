// Package mutants has planted bugs for package raftkv, in the form of simrun's own.
package mutants

import "embed"

// Patches are the patch files.
//
//go:embed *.patch
var Patches embed.FS
