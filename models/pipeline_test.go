package models

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/simrun-dev/simrun/system/dataflow"
)

var (
	pipelineWord  = dataflow.Type(dataflow.KindString)
	pipelineWhole = dataflow.Type(dataflow.KindInt64)
	sinkColumns   = []dataflow.Column{
		{Name: "grp", Type: pipelineWord}, {Name: "total", Type: pipelineWhole.OrNull()}, {Name: "as_of", Type: pipelineWhole.OrNull()},
	}
)

func itemRow(key, group string, v int64) dataflow.Row {
	return dataflow.Pack(dataflow.String(key), dataflow.String(group), dataflow.Int(v))
}

func totalRow(group string, v int64) dataflow.Row {
	return dataflow.Pack(dataflow.String(group), dataflow.Int(v))
}

func sinkRow(group string, v int64) dataflow.Row {
	return dataflow.Pack(dataflow.String(group), dataflow.Int(v), dataflow.Null())
}

func markRow(at int64) dataflow.Row {
	return dataflow.Pack(dataflow.String("~"), dataflow.Int(0), dataflow.Int(at))
}

func plus(at uint64, row dataflow.Row) dataflow.Update {
	return dataflow.Update{Row: row, Time: at, Diff: 1}
}
func minus(at uint64, row dataflow.Row) dataflow.Update {
	return dataflow.Update{Row: row, Time: at, Diff: -1}
}

// smallPipeline has a source with a key span from 5 on, in which a is 1 from 10 on, b is 2 from 20 on, and a is 5 from 30
// on, all of group g; everything is durable up to 40, and 40 is published.
func smallPipeline() *Pipeline {
	p := NewPipeline(dataflow.Catalog{"items": dataflow.NewSchema(
		dataflow.Column{Name: "key", Type: pipelineWord}, dataflow.Column{Name: "grp", Type: pipelineWord}, dataflow.Column{Name: "v", Type: pipelineWhole},
	)})
	totals := dataflow.Get("items").Reduce([]dataflow.Expr{dataflow.Col(1)}, dataflow.Sum(dataflow.Col(2)))
	p.Defined("totals", totals)
	p.Defined("flow", totals.Map(dataflow.NullOf(dataflow.KindInt64)))
	p.Defined("other flow", dataflow.Get("items").Reduce([]dataflow.Expr{dataflow.Col(1)}, dataflow.Max(dataflow.Col(2))).Map(dataflow.NullOf(dataflow.KindInt64)))
	p.DefinedOn("on sink", "out", sinkColumns, dataflow.Get("out"))
	p.SpanAdded(1, 5)
	put := func(at uint64, key string, v int64) {
		p.Committed(at, []PipelineChange{{"items", key, itemRow(key, "g", v)}}, Moment{})
	}
	put(10, "a", 1)
	put(20, "b", 2)
	put(30, "a", 5)
	p.Durable(1, 40)
	p.Published(40, 1, p.Progress(), Moment{})
	return p
}

// requirePipeline runs a history on the small pipeline and requires exactly the named oracle to object, with a message that
// says so; "" is none.
func requirePipeline(t *testing.T, oracle, message string, history func(p *Pipeline)) {
	t.Helper()
	p := smallPipeline()
	history(p)
	for _, o := range p.Oracles() {
		j := o.Judge()
		if o.Name() != oracle {
			require.NotEqual(t, VerdictFail, j.Verdict, "%s: %v", o.Name(), j.Violations)
			continue
		}
		require.Equal(t, VerdictFail, j.Verdict, oracle)
		require.Contains(t, j.Violations[0].Message, message)
	}
}

func TestPipelineCheckpoint(t *testing.T) {
	const o = OraclePipelineCheckpoint
	requirePipeline(t, "", "", func(p *Pipeline) {
		p.Durable(1, 50)
		p.Published(50, 2, p.Progress(), Moment{})
		p.Published(40, 1, p.Progress(), Moment{}) // who stored it learns of it late
	})
	requirePipeline(t, o, "key span 1 (added at 5, dropped at 0) is durable up to 40 only", func(p *Pipeline) { p.Published(50, 2, p.Progress(), Moment{}) })
	requirePipeline(t, o, "goes back from 40 to 39", func(p *Pipeline) { p.Published(39, 2, p.Progress(), Moment{}) })
	requirePipeline(t, o, "goes back from 41 to 40", func(p *Pipeline) { p.Published(41, 0, p.Progress(), Moment{}) })
	requirePipeline(t, o, "key span 2 (added at 35, dropped at 0) is durable up to 0 only", func(p *Pipeline) {
		p.Durable(1, 50)
		p.SpanAdded(2, 35)
		p.Published(41, 2, p.Progress(), Moment{})
	})
	requirePipeline(t, o, "durable up to 40 only", func(p *Pipeline) {
		before := p.Progress()
		p.Durable(1, 50)
		p.Published(50, 2, before, Moment{}) // it became so after somebody set out to publish
	})
	requirePipeline(t, o, "the source commits at 40", func(p *Pipeline) { p.Committed(40, nil, Moment{}) })
	requirePipeline(t, "", "", func(p *Pipeline) { // a span that is dropped has to be there up to its end
		p.SpanAdded(2, 41)
		p.SpanDropped(2, 45)
		p.Durable(2, 45)
		p.Durable(1, 60)
		p.Published(60, 2, p.Progress(), Moment{})
	})
	requirePipeline(t, o, "key span 2 (added at 41, dropped at 45) is durable up to 44 only", func(p *Pipeline) {
		p.SpanAdded(2, 41)
		p.SpanDropped(2, 45)
		p.Durable(2, 44)
		p.Durable(1, 60)
		p.Published(60, 2, p.Progress(), Moment{})
	})
}

func TestPipelinePeeks(t *testing.T) {
	const o = OraclePipelineEndToEnd
	peek := func(at uint64, rows ...dataflow.Row) func(*Pipeline) {
		return func(p *Pipeline) {
			var counted []dataflow.RowCount
			for _, r := range rows {
				counted = append(counted, dataflow.RowCount{Row: r, Count: 1})
			}
			p.Peeked("totals", at, counted, Moment{})
		}
	}
	requirePipeline(t, "", "", peek(9))
	requirePipeline(t, "", "", peek(10, totalRow("g", 1)))
	requirePipeline(t, "", "", peek(29, totalRow("g", 3)))
	requirePipeline(t, "", "", peek(30, totalRow("g", 7)))
	requirePipeline(t, o, "as of 30 is not what the source says: surplus ('g', 3); missing ('g', 7)", peek(30, totalRow("g", 3)))
	requirePipeline(t, o, "missing ('g', 7)", peek(30))
	requirePipeline(t, o, "surplus ('g', 1)", peek(9, totalRow("g", 1)))
	requirePipeline(t, o, "wrong ('g', 7) (2 times, want 1)", peek(30, totalRow("g", 7), totalRow("g", 7)))
}

// The shard of a key span is judged as it is, ahead of what is published.
func TestPipelineSpans(t *testing.T) {
	const o = OraclePipelineCheckpoint
	a1, b2, a5 := itemRow("a", "g", 1), itemRow("b", "g", 2), itemRow("a", "g", 5)
	follow := func(start, end string, batches ...pipelineBatch) func(*Pipeline) {
		return func(p *Pipeline) {
			p.DefinedSpan("span", "items", start, end)
			f := p.FollowSpan("raw", "span", 1)
			for _, b := range batches {
				f.Advanced(b.lower, b.upper, b.updates, Moment{})
			}
		}
	}
	all := []dataflow.Update{plus(10, a1), plus(20, b2), minus(30, a1), plus(30, a5)}
	requirePipeline(t, "", "", follow("a", "c", pipelineBatch{1, 90, all}))
	requirePipeline(t, "", "", follow("a", "b", pipelineBatch{1, 15, all[:1]}, pipelineBatch{15, 90, all[2:]}))
	requirePipeline(t, "", "", follow("b", "c", pipelineBatch{1, 90, all[1:2]}))
	requirePipeline(t, o, "raw as of 20 is not what the source says: surplus ('b', 'g', 2)", follow("a", "b", pipelineBatch{1, 90, all}))
	requirePipeline(t, o, "raw as of 20 is not what the source says: missing ('b', 'g', 2)", follow("a", "c", pipelineBatch{1, 25, all[:1]}))
	requirePipeline(t, o, "wrong ('a', 'g', 1) (2 times, want 1)", follow("a", "c", pipelineBatch{1, 15, []dataflow.Update{{Row: a1, Time: 10, Diff: 2}}}))
	requirePipeline(t, o, "raw goes on at 15, and was told up to 12", follow("a", "c", pipelineBatch{1, 12, all[:1]}, pipelineBatch{15, 16, nil}))
}

func TestPipelineTables(t *testing.T) {
	const o = OraclePipelineEndToEnd
	a1, b2, a5 := itemRow("a", "g", 1), itemRow("b", "g", 2), itemRow("a", "g", 5)
	follow := func(batches ...pipelineBatch) func(*Pipeline) {
		return func(p *Pipeline) {
			f := p.FollowTable("items", "items", 1)
			for _, b := range batches {
				f.Advanced(b.lower, b.upper, b.updates, Moment{})
			}
		}
	}
	whole := []dataflow.Update{plus(10, a1), plus(20, b2), plus(30, a5), minus(30, a1)}
	requirePipeline(t, "", "", follow(pipelineBatch{1, 41, whole}))
	requirePipeline(t, "", "", follow(pipelineBatch{1, 20, whole[:1]}, pipelineBatch{20, 41, whole[1:]}))
	requirePipeline(t, o, "items as of 20 is not what the source says: missing ('b', 'g', 2)", follow(pipelineBatch{1, 41, []dataflow.Update{plus(10, a1), plus(21, b2)}}))
	requirePipeline(t, o, "as of 30", follow(pipelineBatch{1, 41, whole[:2]}))
	requirePipeline(t, o, "goes on at 21, and was told up to 20", follow(pipelineBatch{1, 20, whole[:1]}, pipelineBatch{21, 41, whole[1:]}))
	requirePipeline(t, o, "complete up to 41, and the latest checkpoint that was published is 40", follow(pipelineBatch{1, 42, whole}))
	requirePipeline(t, o, "update at 10, outside of [20, 41)", follow(pipelineBatch{1, 20, whole[:1]}, pipelineBatch{20, 41, []dataflow.Update{plus(10, a1)}}))
	requirePipeline(t, o, "update at 10, outside of [1, 10)", follow(pipelineBatch{1, 10, whole[:1]}))
	requirePipeline(t, o, "wrong ('a', 'g', 1) (2 times, want 1)", follow(pipelineBatch{1, 12, []dataflow.Update{plus(10, a1), plus(10, a1)}}))
}

type pipelineBatch struct {
	lower, upper uint64
	updates      []dataflow.Update
}

func TestPipelineSubscriptions(t *testing.T) {
	const o = OraclePipelineSubscribe
	follow := func(asOf uint64, snapshot bool, batches ...pipelineBatch) func(*Pipeline) {
		return func(p *Pipeline) {
			f := p.FollowSubscription("s", "totals", asOf, snapshot)
			for _, b := range batches {
				f.Advanced(b.lower, b.upper, b.updates, Moment{})
			}
		}
	}
	change := []dataflow.Update{minus(30, totalRow("g", 3)), plus(30, totalRow("g", 7))}
	base := plus(25, totalRow("g", 3))
	requirePipeline(t, "", "", follow(25, true, pipelineBatch{0, 26, []dataflow.Update{base}}, pipelineBatch{26, 31, change}))
	requirePipeline(t, "", "", follow(25, true, pipelineBatch{0, 25, nil}, pipelineBatch{25, 31, append([]dataflow.Update{base}, change...)}))
	requirePipeline(t, "", "", follow(25, false, pipelineBatch{0, 26, nil}, pipelineBatch{26, 31, change}))
	requirePipeline(t, o, "missing ('g', 3)", follow(25, true, pipelineBatch{0, 26, nil}))
	requirePipeline(t, o, "outside of [26, 27)", follow(25, false, pipelineBatch{0, 27, []dataflow.Update{base}}))
	requirePipeline(t, o, "goes on at 27, and was told up to 26", follow(25, true, pipelineBatch{0, 26, []dataflow.Update{base}}, pipelineBatch{27, 31, change}))
	requirePipeline(t, o, "goes on at 26, and was told up to 31", follow(25, true, pipelineBatch{0, 31, append([]dataflow.Update{base}, change...)}, pipelineBatch{26, 31, change}))
	requirePipeline(t, o, "s as of 30", follow(25, true, pipelineBatch{0, 26, []dataflow.Update{base}}, pipelineBatch{26, 31, change[:1]}))
}

func TestPipelineSinks(t *testing.T) {
	const o = OraclePipelineFlowSink
	follow := func(batches ...pipelineBatch) func(*Pipeline) {
		return func(p *Pipeline) {
			s := p.FollowSink("out", 2, "flow")
			for _, b := range batches {
				s.Advanced(b.lower, b.upper, b.updates, Moment{})
			}
		}
	}
	first := []dataflow.Update{plus(25, sinkRow("g", 3)), plus(25, markRow(25))}
	next := []dataflow.Update{minus(35, sinkRow("g", 3)), plus(35, sinkRow("g", 7)), minus(35, markRow(25)), plus(35, markRow(35))}
	requirePipeline(t, "", "", follow(pipelineBatch{0, 26, first}, pipelineBatch{26, 36, next}))
	requirePipeline(t, "", "", follow(pipelineBatch{0, 26, []dataflow.Update{plus(25, sinkRow("g", 1)), plus(25, markRow(15))}}))
	requirePipeline(t, o, "has the marks [], and must have one", follow(pipelineBatch{0, 26, first[:1]}))
	requirePipeline(t, o, "has the marks [25 35], and must have one", follow(pipelineBatch{0, 26, first}, pipelineBatch{26, 36, []dataflow.Update{plus(35, markRow(35))}}))
	// The two halves of a write-back apart.
	requirePipeline(t, o, "with its mark as of 25 is not what the source says: missing ('g', 3, NULL); surplus ('g', 7, NULL)",
		follow(pipelineBatch{0, 26, first}, pipelineBatch{26, 36, []dataflow.Update{minus(34, sinkRow("g", 3)), plus(34, sinkRow("g", 7)), minus(35, markRow(25)), plus(35, markRow(35))}}))
	requirePipeline(t, o, "surplus ('g', 3, NULL); missing ('g', 7, NULL)", follow(pipelineBatch{0, 26, []dataflow.Update{plus(35, sinkRow("g", 3)), plus(35, markRow(35))}}))
	requirePipeline(t, o, "has the mark 15, and had 25 before", follow(pipelineBatch{0, 26, first}, pipelineBatch{26, 36, []dataflow.Update{minus(35, sinkRow("g", 3)), plus(35, sinkRow("g", 1)), minus(35, markRow(25)), plus(35, markRow(15))}}))
	requirePipeline(t, o, "as of 25 has the mark 35, which is later", follow(pipelineBatch{0, 26, []dataflow.Update{plus(25, sinkRow("g", 7)), plus(25, markRow(35))}}))
	requirePipeline(t, o, "the latest checkpoint that was published is 40", follow(pipelineBatch{0, 46, []dataflow.Update{plus(45, sinkRow("g", 7)), plus(45, markRow(45))}}))
	requirePipeline(t, o, "goes on at 27, and was told up to 26", follow(pipelineBatch{0, 26, first}, pipelineBatch{27, 36, next}))
	requirePipeline(t, o, "which is no row of it", follow(pipelineBatch{0, 26, []dataflow.Update{plus(25, "x")}}))
}

// A flow that is replaced may be either of two, until it is known which.
func TestPipelineReplacedFlow(t *testing.T) {
	batches := func(s *PipelineSink) {
		s.Advanced(0, 26, []dataflow.Update{plus(25, sinkRow("g", 2)), plus(25, markRow(25))}, Moment{}) // the greatest, not the sum
	}
	requirePipeline(t, OraclePipelineFlowSink, "missing ('g', 3, NULL)", func(p *Pipeline) { batches(p.FollowSink("out", 2, "flow")) })
	requirePipeline(t, "", "", func(p *Pipeline) {
		s := p.FollowSink("out", 2, "flow")
		s.Replaced("other flow")
		batches(s)
	})
	requirePipeline(t, OraclePipelineFlowSink, "missing ('g', 3, NULL)", func(p *Pipeline) {
		s := p.FollowSink("out", 2, "other flow")
		s.Replaced("flow")
		s.Settled()
		batches(s)
	})
}

func TestPipelineSameAnswer(t *testing.T) {
	const o = OraclePipelineSameAnswer
	run := func(early bool, at uint64, rows ...dataflow.Row) func(*Pipeline) {
		return func(p *Pipeline) {
			s := p.FollowSink("out", 2, "flow")
			sink := func() {
				s.Advanced(0, 36, []dataflow.Update{
					plus(25, sinkRow("g", 3)), plus(25, markRow(25)),
					minus(35, sinkRow("g", 3)), plus(35, sinkRow("g", 7)), minus(35, markRow(25)), plus(35, markRow(35)),
				}, Moment{})
			}
			if !early {
				sink()
			}
			var counted []dataflow.RowCount
			for _, r := range rows {
				counted = append(counted, dataflow.RowCount{Row: r, Count: 1})
			}
			p.Peeked("on sink", at, counted, Moment{})
			if early {
				sink()
			}
		}
	}
	for _, early := range []bool{false, true} {
		requirePipeline(t, "", "", run(early, 24))
		requirePipeline(t, "", "", run(early, 30, sinkRow("g", 3), markRow(25)))
		requirePipeline(t, "", "", run(early, 35, sinkRow("g", 7), markRow(35)))
		requirePipeline(t, o, "missing ('g', 3, NULL); surplus ('g', 7, NULL); missing ('~', 0, 25); surplus ('~', 0, 35)", run(early, 34, sinkRow("g", 7), markRow(35)))
		requirePipeline(t, o, "missing ('~', 0, 35)", run(early, 35, sinkRow("g", 7)))
	}
}

func TestPipelineRoll(t *testing.T) {
	const o = OraclePipelineIntrospection
	row := func(name, says string) dataflow.Row {
		return dataflow.Pack(dataflow.String(name), dataflow.String(says))
	}
	follow := func(batches ...[]dataflow.Update) func(*Pipeline) {
		return func(p *Pipeline) {
			r := p.FollowRoll("replicas", []string{"r1", "r2"})
			for _, b := range batches {
				r.Advanced(b, Moment{})
			}
		}
	}
	both := []dataflow.Update{plus(10, row("r1", "up")), plus(10, row("r2", "up")), plus(10, "rival")}
	requirePipeline(t, "", "", follow(both, []dataflow.Update{minus(20, row("r1", "up")), plus(20, row("r1", "down"))}))
	requirePipeline(t, "", "", follow(both[:1], []dataflow.Update{plus(11, row("r2", "up"))}))
	requirePipeline(t, o, "replicas as of 20 has 0 rows of r1", follow(both, []dataflow.Update{minus(20, row("r1", "up")), plus(21, row("r1", "down"))}))
	requirePipeline(t, o, "replicas as of 20 has 2 rows of r1", follow(both, []dataflow.Update{plus(20, row("r1", "down"))}))
}

// What only who observes can tell is judged as it is told.
func TestPipelineHolds(t *testing.T) {
	for _, o := range []string{OraclePipelineIntrospection, OraclePipelineReadable, OraclePipelineProgress} {
		requirePipeline(t, "", "", func(p *Pipeline) { require.True(t, p.Holds(o, true, Moment{}, "")) })
		requirePipeline(t, o, "so far only", func(p *Pipeline) { require.False(t, p.Holds(o, false, Moment{}, "so far only")) })
	}
}

// An oracle that had nothing to judge says so.
func TestPipelineVacuous(t *testing.T) {
	p := NewPipeline(dataflow.Catalog{})
	require.Len(t, p.Oracles(), len(PipelineOracles()))
	for i, o := range p.Oracles() {
		require.Equal(t, PipelineOracles()[i], o.Name())
		require.Zero(t, o.Judge().Judged, o.Name())
	}
	// A peek on a sink that was never observed so far is not judged either.
	p = smallPipeline()
	p.FollowSink("out", 2, "flow")
	p.Peeked("on sink", 50, nil, Moment{})
	require.Zero(t, p.rules[OraclePipelineSameAnswer].judged)
}

// The source's store tells its log again when it starts.
func TestPipelineCommitsAreTakenOnce(t *testing.T) {
	p := NewPipeline(dataflow.Catalog{"items": dataflow.NewSchema(dataflow.Column{Name: "key", Type: pipelineWord})})
	row := dataflow.Pack(dataflow.String("a"))
	for range 2 {
		p.Committed(10, []PipelineChange{{"items", "a", row}}, Moment{})
		p.Committed(20, []PipelineChange{{"items", "a", ""}}, Moment{})
	}
	require.Equal(t, uint64(20), p.Last())
	p.Peeked("items", 10, []dataflow.RowCount{{Row: row, Count: 1}}, Moment{})
	p.Peeked("items", 20, nil, Moment{})
	require.Equal(t, VerdictPass, p.rules[OraclePipelineEndToEnd].Judge().Verdict)
}

// A check costs as much after many commits as after few: it allocates for the contents, not for the history.
func TestPipelineIsIncremental(t *testing.T) {
	cost := func(commits uint64) float64 {
		p := smallPipeline()
		for i := range commits {
			p.Committed(50+i, []PipelineChange{{"items", "a", itemRow("a", "g", int64(i))}}, Moment{})
		}
		at := p.Last()
		return testing.AllocsPerRun(20, func() {
			clear(p.evaluated)
			p.query("totals", at)
		})
	}
	require.InDelta(t, cost(10), cost(10_000), 3)
}
