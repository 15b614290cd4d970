package cli

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/simrun-dev/simrun/internal/rerun"
	"github.com/simrun-dev/simrun/scenarios"
)

// seedFlags are --seed, --seeds and --for.
type seedFlags struct {
	seeds scenarios.Seeds // of --seed or --seeds
	limit time.Duration   // of --for
}

// add registers the flags; withFor whether --for is among them.
func (f *seedFlags) add(flags *pflag.FlagSet, defaults string, withFor bool) {
	f.seeds, _ = rerun.ParseSeeds(defaults)
	flags.Var(&parsedFlag{typ: "N", parse: func(text string) error {
		seed, err := rerun.ParseSeed(text)
		f.seeds = scenarios.Seeds{{First: seed, Last: seed}}
		return err
	}}, "seed", "run this seed only")
	flags.Var(&parsedFlag{typ: "A-B", text: defaults, parse: func(text string) (err error) {
		f.seeds, err = rerun.ParseSeeds(text)
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
