// Command clonehub fills the storage of a hub that is stopped with many clusters, for
// benchmarks of its restart: whatever the hub keeps of one cluster, which joined it and
// came to rest, is written again under other names.
//
//	clonehub --data-dir hub --cluster cluster-00000 --until 10000
//
// makes cluster-00001 to cluster-09999. Each copy has identities of its own, in all of
// its objects; Events, which end by themselves, and rows of the database are not
// copied. A join of that many would leave the same, and take half an hour of CPU.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

func main() {
	dataDir := flag.String("data-dir", "", "data directory of the hub")
	cluster := flag.String("cluster", "cluster-00000", "the cluster that is copied; its name ends with a number")
	until := flag.Int("until", 0, "how many clusters there are afterwards, numbered from 0")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	written, err := fill(ctx, filepath.Join(*dataDir, "etcd"), *cluster, *until)
	if err != nil {
		fmt.Fprintln(os.Stderr, "clonehub:", err)
		os.Exit(1)
	}
	fmt.Printf("%d objects written\n", written)
}
