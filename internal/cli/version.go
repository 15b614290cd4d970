package cli

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

func (c *Command) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version, and the source revision it was built from",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			info, ok := debug.ReadBuildInfo()
			if !ok {
				return fmt.Errorf("the binary has no build information: it was not built by the go command")
			}
			_, err := fmt.Fprintln(c.Stdout, c.Name, versionText(info))
			return err
		},
	}
}

// versionText is the version of the main module, the revision, and the Go release.
func versionText(info *debug.BuildInfo) string {
	version := info.Main.Version
	if version == "" {
		version = "(devel)"
	}
	text := version
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			text += " revision " + s.Value
		case s.Key == "vcs.modified" && s.Value == "true" && !strings.Contains(version, "+dirty"):
			text += " with changes"
		}
	}
	text += " " + info.GoVersion
	if plantedMutant != "" {
		text += " with planted bug " + plantedMutant
	}
	return text
}
