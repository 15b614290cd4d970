package cli

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/simrun-dev/simrun/scenarios"
)

// parseSeed reads one seed, decimal or 0x and hexadecimal.
func parseSeed(text string) (uint64, error) {
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

// parseSeeds reads a list of seeds and ranges, "1-50,77", and returns it in ascending order, each
// seed once.
func parseSeeds(text string) (scenarios.Seeds, error) {
	var seeds scenarios.Seeds
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if strings.HasPrefix(part, "-") {
			first, isRange = part, false // a negative number, not a range
		}
		if isRange && (last == "" || first == "") || part == "" {
			return nil, fmt.Errorf("%q is not a range of seeds: write it like 1-50", part)
		}
		from, err := parseSeed(first)
		if err != nil {
			return nil, err
		}
		to := from
		if isRange {
			if to, err = parseSeed(last); err != nil {
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

// seedFlags are --seed, --seeds and --for.
type seedFlags struct {
	seeds scenarios.Seeds // of --seed or --seeds
	limit time.Duration   // of --for
}

// add registers the flags; withFor whether --for is among them.
func (f *seedFlags) add(flags *pflag.FlagSet, defaults string, withFor bool) {
	f.seeds, _ = parseSeeds(defaults)
	flags.Var(&parsedFlag{typ: "N", parse: func(text string) error {
		seed, err := parseSeed(text)
		f.seeds = scenarios.Seeds{{First: seed, Last: seed}}
		return err
	}}, "seed", "run this seed only")
	flags.Var(&parsedFlag{typ: "A-B", text: defaults, parse: func(text string) (err error) {
		f.seeds, err = parseSeeds(text)
		return err
	}}, "seeds", "run the seeds A to B, both included; also a list, 1-50,77")
	if withFor {
		flags.Var(&parsedFlag{typ: "D", parse: func(text string) (err error) {
			f.limit, err = parseDuration(text)
			f.seeds = scenarios.Seeds{{First: 1, Last: math.MaxUint64}}
			return err
		}}, "for", "run seeds from 1 on until this much real time is up: 30s, 10m, 2h")
	}
}

// check returns an error if more than one of the flags was given.
func (f *seedFlags) check(flags *pflag.FlagSet) error {
	var given []string
	for _, name := range []string{"seed", "seeds", "for"} {
		if flags.Changed(name) {
			given = append(given, "--"+name)
		}
	}
	if len(given) > 1 {
		return usagef("%s each say which seeds to run: give only one of them", strings.Join(given, " and "))
	}
	return nil
}

// durationText is what looks like a duration, be it too long for one.
var durationText = regexp.MustCompile(`^(\d+(\.\d*)?(ns|us|µs|ms|s|m|h))+$`)

func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	switch {
	case err != nil && durationText.MatchString(text):
		return 0, fmt.Errorf("%s is too long: the longest is %s", text, time.Duration(math.MaxInt64).Truncate(time.Hour))
	case err != nil:
		return 0, fmt.Errorf("%q is not a duration: write it like 30s, 10m or 2h", text)
	case d <= 0:
		return 0, fmt.Errorf("%s is no time at all: give a duration above 0", text)
	}
	return d, nil
}

// parsedFlag is a flag whose text is taken apart as it is set, so that what is wrong with it is
// said with the flag's name.
type parsedFlag struct {
	typ, text string
	parse     func(string) error
}

func (f *parsedFlag) String() string { return f.text }
func (f *parsedFlag) Type() string   { return f.typ }
func (f *parsedFlag) Set(text string) error {
	if text == "" {
		return fmt.Errorf("it is empty: give %s", f.typ)
	}
	if err := f.parse(text); err != nil {
		return err
	}
	f.text = text
	return nil
}
