package mutants

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// forget removes from the go command's cache what [Tree.Build] has put there for a mutant. Nobody
// builds it again, it is a hundred megabytes, and the go command keeps for days what is not used:
// hunts would fill the disk. What is older than the build was there before, and may be of use to
// others.
func (t Tree) forget(ctx context.Context, m *Mutant, command, dir string, began time.Time) error {
	files, err := t.compiled(ctx, m, command, dir)
	for _, file := range files {
		info, there := os.Stat(file)
		if there != nil || info.ModTime().Before(began) {
			continue
		}
		if gone := os.Remove(file); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// compiled are the files in the go command's cache of the packages that a mutant changes, and of
// those that depend on them; dir is what it was built in.
func (t Tree) compiled(ctx context.Context, m *Mutant, command, dir string) ([]string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	format := `{{if not .Standard}}{{.ImportPath}}|{{.Export}}|{{join .Deps "|"}}{{end}}`
	args := append([]string{"list", "-deps", "-export", "-f", format}, compiling(filepath.Join(dir, overlayName))...)
	listed, err := goCommand(ctx, t.workDir(), buildEnv(dir), append(args, command)...)
	if err != nil {
		return nil, err
	}
	var changed []string
	for _, f := range m.files {
		changed = append(changed, path.Join(ModulePath, path.Dir(target(f))))
	}
	var files []string
	for line := range strings.Lines(listed) {
		fields := strings.Split(strings.TrimSpace(line), "|")
		if len(fields) < 3 || fields[1] == "" {
			continue
		}
		export := fields[1]
		affected := func(p string) bool { return p == fields[0] || slices.Contains(fields[2:], p) }
		if slices.ContainsFunc(changed, affected) {
			files = append(files, export)
		}
	}
	return files, nil
}
