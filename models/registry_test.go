package models

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestRegisterRefuses(t *testing.T) {
	good := kvModel()
	good.Name = "kv-of-a-test"
	before := len(All())
	Register(good)
	t.Cleanup(func() {
		registry.models = slices.DeleteFunc(registry.models, func(m Model) bool { return m.Name == good.Name })
	})
	require.Len(t, All(), before+1)
	found, err := Lookup("kv-of-a-test")
	require.NoError(t, err)
	require.Equal(t, good.Doc, found.Doc)

	for want, change := range map[string]func(*Model){
		`there is a model "kv-of-a-test" already`: func(*Model) {},
		`there is a model "kv" already`:           func(m *Model) { m.Name = "kv" },
		`a model is called ""`:                    func(m *Model) { m.Name = "" },
		`a model is called "a b"`:                 func(m *Model) { m.Name = "a b" },
		`model "none" has no Oracles`:             func(m *Model) { m.Name, m.Oracles = "none", nil },
		`model "none" has no Schema.Inputs`:       func(m *Model) { m.Name, m.Schema = "none", Schema{} },
	} {
		bad := good
		change(&bad)
		func() {
			defer func() { require.Contains(t, recover(), want) }()
			Register(bad)
		}()
	}
}

// Every model says what it is, and its histories can be written and read back.
func TestBuiltinModels(t *testing.T) {
	for _, m := range Builtin() {
		require.NotEmpty(t, m.Doc, m.Name)
		require.NotEmpty(t, m.Schema.Operations(), m.Name)
		require.NotEmpty(t, m.Schema.Answers(), m.Name)
		for _, j := range m.Judge(NewHistory(), Bounds{}) {
			require.Equal(t, VerdictUnknown, j.Verdict, "%s: nothing to judge is no pass", m.Name)
		}
	}
	require.Contains(t, kvModel().Schema.Operations(), "cas {key?, old, new}")
	require.Contains(t, kvModel().Schema.Answers(), "found {value}")
	require.Equal(t, []string{"n {int}"}, describeTypes(map[string]reflect.Type{"n": reflect.TypeFor[int]()}))
}

func TestHistoriesOfEveryModelReadBack(t *testing.T) {
	for i, m := range machines {
		model, err := Lookup(m.model)
		require.NoError(t, err)
		rapid.Check(t, func(rt *rapid.T) {
			h := m.play(seededChooser(rapid.Uint64().Draw(rt, "seed")), 3, 20, 20, 10)
			var file bytes.Buffer
			require.NoError(rt, model.WriteHistory(&file, h))
			back, err := model.Read(&file, FormatAuto)
			require.NoError(rt, err, "machine %d", i)
			require.Equal(rt, listing(h), listing(back))
			require.Equal(rt, model.Judge(h, Bounds{})[0].Verdict, model.Judge(back, Bounds{})[0].Verdict)
		})
	}
}
