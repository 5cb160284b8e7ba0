package app

import (
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
)

// shortCommit is how many characters of a commit name it for people.
const shortCommit = 9

// buildMetric tells what is running, under the name and by the labels that
// dashboards know (contract section 14). What the build does not tell is empty.
func buildMetric(version string) prometheus.Collector {
	labels := prometheus.Labels{
		"git_version": version, "git_commit": "", "git_short_commit": "", "git_tree_state": "", "build_date": "",
		"go_version": runtime.Version(), "compiler": runtime.Compiler, "platform": runtime.GOOS + "/" + runtime.GOARCH,
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			switch setting.Key {
			case "vcs.revision":
				labels["git_commit"] = setting.Value
				labels["git_short_commit"] = setting.Value[:min(shortCommit, len(setting.Value))]
			case "vcs.time":
				labels["build_date"] = setting.Value
			case "vcs.modified":
				labels["git_tree_state"] = "clean"
				if setting.Value == "true" {
					labels["git_tree_state"] = "dirty"
				}
			}
		}
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{Name: "karmada_build_info", Help: "Always 1; the labels tell the build.", ConstLabels: labels})
	build.Set(1)
	return build
}
