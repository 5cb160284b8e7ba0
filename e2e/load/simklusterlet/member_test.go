package main

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/e2e/load"
)

// TestMember: clients take the simulated member for a cluster.
func TestMember(t *testing.T) {
	counters := &load.Counters{}
	countRequests(counters)
	client, err := kubernetes.NewForConfig(newMember("v1.36.3"))
	if err != nil {
		t.Fatal(err)
	}
	version, err := client.Discovery().ServerVersion()
	if err != nil || version.GitVersion != "v1.36.3" {
		t.Fatalf("version %v, %v", version, err)
	}
	nodes, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(nodes.Items) != 1 || nodes.Items[0].Status.Capacity.Cpu().Value() != 64 {
		t.Fatalf("nodes %v, %v", nodes, err)
	}
	spaces, err := client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(spaces.Items) != 0 {
		t.Fatalf("namespaces %v, %v", spaces, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	watching, err := client.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{ResourceVersion: "1"})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	for end := time.After(time.Minute); ; {
		select {
		case event, open := <-watching.ResultChan():
			if open && event.Object == nil {
				t.Fatalf("the watch tells %v", event)
			}
			if open {
				continue // that it was ended
			}
		case <-end:
			t.Fatal("the watch outlives its context")
		}
		break
	}
	if counts := counters.Counts(); len(counts) != 0 {
		t.Errorf("requests to members are counted as the hub's: %v", counts)
	}
}
