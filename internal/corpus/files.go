package corpus

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Extensions are how the names of files of kept runs end; those that are written end in the first.
var Extensions = []string{".yaml", ".yml"}

// Files are the runs of a scenario that are kept in a directory, in the order of their names; none
// if it has no folder there.
func Files(dir, scenario string) ([]string, error) {
	folder := filepath.Join(dir, scenario)
	var files []string
	for _, ext := range Extensions {
		names, err := fs.Glob(os.DirFS(folder), "*"+ext)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			files = append(files, filepath.Join(folder, name))
		}
	}
	slices.Sort(files)
	return files, nil
}
