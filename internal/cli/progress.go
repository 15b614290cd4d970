package cli

import (
	"fmt"
	"io"
	"math"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/simrun-dev/simrun/scenarios"
)

// progress tells how far a campaign has come: with a bar on a terminal, with a line every few
// seconds elsewhere.
type progress struct {
	out   io.Writer
	title string
	total uint64        // seeds; math.MaxUint64 if only time limits them
	limit time.Duration // real time; 0 is no limit
	start time.Time
	every time.Duration
	last  time.Time
	bar   *progressbar.ProgressBar // nil: lines

	done, failed, unknown uint64
}

const progressEvery = 5 * time.Second

func (c *Command) progress(title string, seeds scenarios.Seeds, limit time.Duration) *progress {
	now := time.Now()
	p := &progress{out: c.Stderr, title: title, total: seeds.Len(), limit: limit, start: now, last: now, every: progressEvery}
	if !isTerminal(c.Stderr) || c.getenv("TERM") == "dumb" {
		return p
	}
	most := int64(min(p.total, math.MaxInt64))
	options := []progressbar.Option{
		progressbar.OptionSetWriter(c.Stderr),
		progressbar.OptionSetDescription(title),
		progressbar.OptionEnableColorCodes(c.getenv("NO_COLOR") == ""),
		progressbar.OptionSetWidth(30),
		progressbar.OptionThrottle(100 * time.Millisecond),
		progressbar.OptionClearOnFinish(),
	}
	if limit > 0 {
		most = limit.Milliseconds()
	} else {
		options = append(options, progressbar.OptionShowCount(), progressbar.OptionShowIts(), progressbar.OptionSetItsString("seeds"))
	}
	p.bar = progressbar.NewOptions64(most, options...)
	return p
}

// add counts a result.
func (p *progress) add(r *scenarios.Result) {
	p.done++
	switch r.Verdict {
	case scenarios.Fail:
		p.failed++
	case scenarios.Unknown:
		p.unknown++
	}
	now := time.Now()
	switch {
	case p.bar != nil:
		at := int64(min(p.done, math.MaxInt64))
		if p.limit > 0 {
			at = min(now.Sub(p.start).Milliseconds(), p.limit.Milliseconds()-1)
		}
		if p.failed > 0 {
			p.bar.Describe(fmt.Sprintf("%s, %d failed", p.title, p.failed))
		}
		_ = p.bar.Set64(at) // a bar that cannot be drawn is no reason to stop
	case now.Sub(p.last) >= p.every:
		p.last = now
		fmt.Fprintln(p.out, p.line(now))
	}
}

// line is the progress as one line of text.
func (p *progress) line(now time.Time) string {
	total := ""
	if p.total != math.MaxUint64 {
		total = fmt.Sprintf(" of %d", p.total)
	}
	elapsed := now.Sub(p.start)
	line := fmt.Sprintf("%s: %d%s seeds, %d failed, %d unknown, %.1f seeds/s, %s",
		p.title, p.done, total, p.failed, p.unknown, float64(p.done)/max(elapsed.Seconds(), 1e-9), elapsed.Round(time.Second))
	if p.limit > 0 {
		line += fmt.Sprintf(" of %s", p.limit)
	}
	return line
}

// clear takes the bar away, so that something else can be printed.
func (p *progress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}
