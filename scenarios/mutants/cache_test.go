package mutants

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What is built for a mutant does not stay in the go command's cache; what others build does.
func TestForget(t *testing.T) {
	ctx, root := context.Background(), t.TempDir()
	t.Setenv("GOFLAGS", "")
	for name, text := range map[string]string{
		"go.mod":                    "module " + ModulePath + "\n\ngo 1.24\n",
		"system/counter/counter.go": "package counter\n\n// Next is " + t.TempDir() + "\nfunc Next(n int) int {\n\treturn n + 1\n}\n",
		"system/other/other.go":     "package other\n\nfunc Other() int { return 1 }\n",
		"cmd/simrun/main.go": "package main\n\nimport (\n\t\"" + ModulePath + "/system/counter\"\n\t\"" + ModulePath +
			"/system/other\"\n)\n\nfunc main() { println(counter.Next(other.Other())) }\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	m, err := Parse("001-twice.patch", []byte("Mutant: twice\nScenario: shard\nBug: Twice.\nExpect: panic\n\n"+
		"diff --git a/system/counter/counter.go b/system/counter/counter.go\n--- a/system/counter/counter.go\n+++ b/system/counter/counter.go\n"+
		"@@ -4,3 +4,3 @@\n func Next(n int) int {\n-\treturn n + 1\n+\treturn n + 2\n }\n"))
	require.NoError(t, err)
	tree, dir := Tree{Dir: root}, t.TempDir()
	began := time.Now().Add(-time.Second) // file systems' times are coarse
	_, err = tree.Build(ctx, m, CommandPackage, dir)
	require.NoError(t, err)
	files, err := tree.compiled(ctx, m, CommandPackage, dir)
	require.NoError(t, err)
	require.Len(t, files, 2, "the package, and the command that depends on it")
	for _, file := range files {
		require.FileExists(t, file)
	}
	args := append([]string{"list", "-export", "-f", "{{.Export}}"}, compiling(filepath.Join(dir, overlayName))...)
	listed, err := goCommand(ctx, root, nil, append(args, ModulePath+"/system/other")...)
	require.NoError(t, err)
	require.NoError(t, tree.forget(ctx, m, CommandPackage, dir, time.Now().Add(time.Hour)), "older files stay")
	require.FileExists(t, files[0])
	require.NoError(t, tree.forget(ctx, m, CommandPackage, dir, began))
	for _, file := range files {
		require.NoFileExists(t, file)
	}
	require.FileExists(t, listed)
}
