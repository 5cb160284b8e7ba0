package e2e_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"muster.dev/muster/backend/controlplane/controlplanetest"
)

// box is a fenced block of a page: what it holds and in which language.
type box struct{ language, text string }

var fence = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

// boxes are the fenced blocks of a page of the repository, in their order.
func boxes(t testing.TB, page string) []box {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", page))
	if err != nil {
		t.Fatal(err)
	}
	var out []box
	for _, found := range fence.FindAllStringSubmatch(string(text), -1) {
		out = append(out, box{found[1], found[2]})
	}
	return out
}

// reader does what a page says, and sees what it shows.
type reader struct {
	// kubeconfigs are of those that the page calls by these names.
	kubeconfigs map[string]string
	// prelude is said to the shell before each command.
	prelude string
	// here says what differs from the page here, such as names.
	here *strings.Replacer
}

// follow applies a page's YAML to the hub and runs its commands. A command that
// reads is run until it prints what the page shows; any other is run once.
func (r *reader) follow(t *testing.T, page string) {
	t.Helper()
	for _, b := range boxes(t, page) {
		text := r.here.Replace(b.text)
		switch b.language {
		case "yaml":
			if got := runWith(t, text, "kube", "kubectl", "--kubeconfig", r.kubeconfigs["hub"], "apply", "-f", "-"); got.code != 0 {
				t.Fatalf("%s: apply\n%s: %s", page, text, got.stderr)
			}
		case "console":
			r.steps(t, text)
		case "text": // a drawing
		default:
			t.Fatalf("%s has a box in %q: neither YAML nor commands with what they print", page, b.language)
		}
	}
}

// steps runs commands, each followed by what it prints.
func (r *reader) steps(t *testing.T, text string) {
	t.Helper()
	for _, step := range strings.Split("\n"+text, "\n$ ")[1:] {
		command, shown, _ := strings.Cut(step, "\n")
		r.step(t, command, shown)
	}
}

func (r *reader) step(t *testing.T, command, shown string) {
	t.Helper()
	printed := ""
	as := func(context.Context) bool {
		printed = r.shell(t, command)
		return like(printed) == like(shown)
	}
	defer func() {
		if t.Failed() {
			t.Logf("$ %s\n%s\nthe page shows\n%s", command, printed, shown)
		}
	}()
	if !strings.Contains(command, " get ") {
		if !as(t.Context()) {
			t.Fatal("a command does not print what the page shows")
		}
		return
	}
	eventually(t, command, as)
}

// shell runs a command line in which kubectl goes by the names of kubeconfigs.
func (r *reader) shell(t *testing.T, command string) string {
	t.Helper()
	kube, err := controlplanetest.Binary("kube")
	if err != nil {
		t.Fatal(err)
	}
	var script strings.Builder
	script.WriteString(r.prelude + "\n")
	for name, path := range r.kubeconfigs {
		script.WriteString(name + "() { " + kube + " kubectl --kubeconfig " + path + ` "$@"; }` + "\n")
	}
	script.WriteString(command)
	out, err := exec.CommandContext(t.Context(), "bash", "-c", script.String()).CombinedOutput()
	if err != nil && !strings.Contains(command, " get ") {
		t.Errorf("%s: %v", command, err)
	}
	return string(out)
}

var age = regexp.MustCompile(`^(\d+[smhd])+$`)

// like is printed text without the width of its columns and the ages in them.
func like(text string) string {
	var lines []string
	for line := range strings.Lines(strings.TrimSpace(text)) {
		fields := strings.Fields(line)
		for i := range fields {
			if age.MatchString(fields[i]) {
				fields[i] = "AGE"
			}
		}
		lines = append(lines, strings.Join(fields, " "))
	}
	return strings.Join(lines, "\n")
}

// TestPages has a hub judge the YAML of all pages about its API.
func TestPages(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(filepath.Join("..", "docs", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	h := startHub(t)
	judged := 0
	for _, page := range pages {
		for _, b := range boxes(t, filepath.Join("docs", filepath.Base(page))) {
			// What is no whole object, a file of the API server, or of a kind of the
			// reader's own, is not the hub's to judge.
			if b.language != "yaml" || !strings.Contains(b.text, "\nkind:") || strings.Contains(b.text, "audit.k8s.io") || strings.HasPrefix(b.text, "apiVersion: example.com/") {
				continue
			}
			judged++
			for _, namespace := range regexp.MustCompile(`namespace: ([\w-]+)`).FindAllStringSubmatch(b.text, -1) {
				run(t, "kube", "kubectl", "--kubeconfig", h.Kubeconfig, "create", "namespace", namespace[1]) // it may be there
			}
			if r := runWith(t, b.text, "kube", "kubectl", "--kubeconfig", h.Kubeconfig, "apply", "--dry-run=server", "-f", "-"); r.code != 0 {
				t.Errorf("%s: the hub refuses\n%s%s", page, b.text, r.stderr)
			}
		}
	}
	page := &reader{here: strings.NewReplacer(), kubeconfigs: map[string]string{"hub": h.Kubeconfig}}
	page.follow(t, "docs/quotas.md")
	if judged < 10 {
		t.Errorf("%d objects were found in the pages: is a box not seen?", judged)
	}
}
