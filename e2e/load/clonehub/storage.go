package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
)

const (
	openLimit = time.Minute
	// batch is how many objects are written at once.
	batch = 100
	quota = 8 << 30 // bytes, as the hub has it
	// snapshots are taken so often, in batches, that the log of the writes ends up as
	// short as that of a hub which wrote one object after the other.
	snapshots = 20
)

// fill writes copies of a cluster until there are so many, and returns how many
// objects it wrote.
func fill(ctx context.Context, dir, cluster string, until int) (written int, err error) {
	server, err := open(dir)
	if err != nil {
		return 0, err
	}
	defer server.Close()
	client := v3client.New(server.Server)
	stored, err := client.Get(ctx, "/registry/", clientv3.WithPrefix())
	if err != nil {
		return 0, fmt.Errorf("read storage: %w", err)
	}
	all := make([]object, len(stored.Kvs))
	for i, kv := range stored.Kvs {
		all[i] = object{string(kv.Key), string(kv.Value)}
	}
	from, err := newOriginal(cluster, all)
	if err != nil {
		return 0, err
	}
	var waiting []clientv3.Op
	flush := func() error {
		if _, err := client.Txn(ctx).Then(waiting...).Commit(); err != nil {
			return fmt.Errorf("write copies: %w", err)
		}
		written, waiting = written+len(waiting), waiting[:0]
		return nil
	}
	for number := range until {
		name, err := from.name(number)
		if err != nil {
			return written, err
		}
		if name == cluster {
			continue
		}
		for _, made := range from.copies(name) {
			waiting = append(waiting, clientv3.OpPut(made.key, made.value))
		}
		if len(waiting) >= batch {
			if err := flush(); err != nil {
				return written, err
			}
		}
	}
	return written, flush()
}

// open opens a storage that nobody else uses.
func open(dir string) (*embed.Etcd, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("open storage: %w", err)
	}
	config := embed.NewConfig()
	config.Dir, config.QuotaBackendBytes, config.MaxTxnOps = dir, quota, 10*batch
	config.LogLevel, config.LogOutputs = "error", []string{filepath.Join(dir, "..", "clonehub.log")}
	config.UnsafeNoFsync = true // who is interrupted starts anew
	config.SnapshotCount, config.SnapshotCatchUpEntries, config.MaxWalFiles = snapshots, snapshots, 2
	config.TickMs, config.ElectionMs = 10, 100
	nobody := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	config.ListenClientUrls = []url.URL{{Scheme: "unix", Path: filepath.Join(dir, "..", "clonehub.sock")}}
	config.AdvertiseClientUrls = []url.URL{nobody}
	config.ListenPeerUrls, config.AdvertisePeerUrls = nil, []url.URL{nobody}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	server, err := embed.StartEtcd(config)
	if err != nil {
		return nil, fmt.Errorf("open storage in %s: %w", dir, err)
	}
	select {
	case <-server.Server.ReadyNotify():
		return server, nil
	case <-time.After(openLimit):
		server.Close()
		return nil, errors.New("open storage: not ready in time")
	}
}
