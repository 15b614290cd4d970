package corpus

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Files are the runs of a scenario that are kept in a directory, in the order of their names; none
// if it has no folder there.
func Files(dir, scenario string) ([]string, error) {
	folder := filepath.Join(dir, scenario)
	names, err := fs.Glob(os.DirFS(folder), "*.yaml")
	slices.Sort(names)
	for i, name := range names {
		names[i] = filepath.Join(folder, name)
	}
	return names, err
}
