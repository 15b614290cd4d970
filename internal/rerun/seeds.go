package rerun

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/simrun-dev/simrun/scenarios"
)

// ParseSeed reads one seed, decimal or 0x and hexadecimal.
func ParseSeed(text string) (uint64, error) {
	digits, base := text, 10
	if hex, ok := strings.CutPrefix(strings.ToLower(text), "0x"); ok {
		digits, base = hex, 16
	}
	seed, err := strconv.ParseUint(digits, base, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("seed %s is too large: the largest is %d", text, uint64(math.MaxUint64))
	case err != nil && strings.HasPrefix(text, "-"):
		return 0, fmt.Errorf("seed %s is negative: seeds are whole numbers from 0", text)
	case err != nil:
		return 0, fmt.Errorf("%q is not a seed: seeds are whole numbers from 0", text)
	}
	return seed, nil
}

// ParseSeeds reads a list of seeds and ranges, "1-50,77", and returns it in ascending order, each
// seed once.
func ParseSeeds(text string) (scenarios.Seeds, error) {
	var seeds scenarios.Seeds
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if strings.HasPrefix(part, "-") {
			first, isRange = part, false // a negative number, not a range
		}
		if isRange && (last == "" || first == "") || part == "" {
			return nil, fmt.Errorf("%q is not a range of seeds: write it like 1-50", part)
		}
		from, err := ParseSeed(first)
		if err != nil {
			return nil, err
		}
		to := from
		if isRange {
			if to, err = ParseSeed(last); err != nil {
				return nil, err
			}
		}
		if to < from {
			return nil, fmt.Errorf("range %s is upside down: write it as %d-%d", part, to, from)
		}
		seeds = append(seeds, scenarios.SeedRange{First: from, Last: to})
	}
	return merged(seeds), nil
}

// merged sorts ranges and joins those that touch.
func merged(seeds scenarios.Seeds) scenarios.Seeds {
	slices.SortFunc(seeds, func(a, b scenarios.SeedRange) int { return cmp.Compare(a.First, b.First) })
	joined := seeds[:1]
	for _, r := range seeds[1:] {
		end := &joined[len(joined)-1]
		if end.Last == math.MaxUint64 || r.First <= end.Last+1 {
			end.Last = max(end.Last, r.Last)
		} else {
			joined = append(joined, r)
		}
	}
	return joined
}
