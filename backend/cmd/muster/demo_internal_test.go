package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"muster.dev/muster/backend/app"
)

func testDemo(t *testing.T, light bool) *demo {
	return &demo{
		tools:  t.TempDir(),
		light:  light,
		config: app.Config{DataDir: "/data", Listen: "127.0.0.1:6443", Advertise: "127.0.0.1:6443"},
	}
}

// Members of the demo reach no registry: what they are to run must be with them.
func TestDemoBringsImages(t *testing.T) {
	d := testDemo(t, false)
	want := []string{"up", "-json"}
	for _, image := range []string{"muster-agent.tar", "web.tar"} {
		archive := filepath.Join(d.tools, image)
		if err := os.WriteFile(archive, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		want = append(want, "-image", archive)
	}
	want = append(want, "-expose", "6443=127.0.0.1:6443", "member1", "member2")
	if got := d.labArguments(); !slices.Equal(got, want) {
		t.Errorf("muster-lab is called with\n%q, want\n%q", got, want)
	}
}

func TestDemoSaysWhatToPaste(t *testing.T) {
	members := []labMember{
		{Name: "member1", Kubeconfig: "/lab/member1/admin", Inside: "/lab/member1/admin-wan", PID: 41},
		{Name: "member2", Kubeconfig: "/lab/member2/admin", Inside: "/lab/member2/admin-wan", PID: 42},
	}
	const register = "muster-agent register 127.0.0.1:6443 --token a.b"
	for _, c := range []struct {
		name  string
		light bool
		want  []string
		not   string
	}{
		{"real", false, []string{
			"/muster join member1 --kubeconfig /data/admin.kubeconfig --cluster-kubeconfig /lab/member1/admin\n",
			"nsenter -t 42 -n ",
			"/muster-agent register 10.77.0.1:6443 --token a.b \\\n    --cluster-name member2 --kubeconfig /lab/member2/admin-wan\n",
			"create deployment web --image muster.test/web:1\n",
		}, "--run"},
		{"light", true, []string{
			"/muster-agent register 127.0.0.1:6443 --token a.b \\\n    --cluster-name member2 --kubeconfig /lab/member2/admin --run\n",
		}, "muster.test/web"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := testDemo(t, c.light).next(register, members)
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("the demo does not say %q:\n%s", want, got)
				}
			}
			if strings.Contains(got, c.not) {
				t.Errorf("the demo says %q:\n%s", c.not, got)
			}
		})
	}
}
