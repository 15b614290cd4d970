package models

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCorpus judges the histories under testdata. The name of a file says whether it is ok or
// bad; its lines "# fails ORACLE: TEXT" name every oracle that must object, and part of what it
// must say.
func TestCorpus(t *testing.T) {
	files, err := filepath.Glob("testdata/shard/*.jsonl")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	model, err := Lookup("shard")
	require.NoError(t, err)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			h, err := model.Schema.Read(bytes.NewReader(data))
			require.NoError(t, err)
			fails := map[string][]string{}
			for scan := bufio.NewScanner(bytes.NewReader(data)); scan.Scan(); {
				if want, ok := strings.CutPrefix(scan.Text(), "# fails "); ok {
					oracle, text, _ := strings.Cut(want, ": ")
					fails[oracle] = append(fails[oracle], text)
				}
			}
			require.Equal(t, strings.HasSuffix(name, "-bad"), len(fails) > 0, "name and content of the file")
			for _, o := range model.Oracles(h) {
				j := o.Judge()
				var said strings.Builder
				for _, v := range j.Violations {
					require.Equal(t, o.Name(), v.Oracle)
					said.WriteString(v.Message + "\n")
				}
				want := VerdictPass
				if fails[o.Name()] != nil {
					want = VerdictFail
				}
				require.Equal(t, want, j.Verdict, "%s says: %s", o.Name(), said.String())
				require.NotContains(t, said.String(), "disagree")
				for _, text := range fails[o.Name()] {
					require.Contains(t, said.String(), text)
				}
			}
		})
	}
}
